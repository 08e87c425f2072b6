"""Answers that a test (or a person) plants in front of the fake: errors, delays, cut connections, broken bodies."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Answer:
    """What happens instead of, or around, the ordinary answer.

    ``status`` None lets the request through. ``cut``: "before" closes the connection unanswered and does nothing,
    "after" does the work and then closes the connection, "body" sends half of the body.
    """

    status: int | None = None
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    cut: str = ""

    @classmethod
    def error(cls, status: int, reason: str, message: str, **headers: str) -> Answer:
        """An error as Compute writes it."""
        body = {
            "error": {
                "code": status,
                "message": message,
                "errors": [{"domain": "global", "reason": reason, "message": message}],
            }
        }
        return cls(status, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def payload(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return json.dumps({} if self.body is None else self.body).encode()


@dataclass
class _Rule:
    method: str
    path: re.Pattern[str]
    answers: list[Answer]
    forever: bool


class Script:
    """Planted answers, used up in order; thread-safe."""

    def __init__(self) -> None:
        self._rules: list[_Rule] = []
        self._lock = threading.Lock()

    def plant(self, method: str, path: str, *answers: Answer, forever: bool = False) -> None:
        """``path`` is a regular expression searched in the request's path; ``forever`` repeats the last answer."""
        with self._lock:
            self._rules.append(_Rule(method, re.compile(path), list(answers), forever))

    def next_answer(self, method: str, path: str) -> Answer | None:
        with self._lock:
            for rule in self._rules:
                if rule.method == method and rule.answers and rule.path.search(path):
                    return rule.answers[0] if rule.forever and len(rule.answers) == 1 else rule.answers.pop(0)
        return None

# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One client for the Compute REST API: requests with bounded retries, paging, and operations that are waited for.

Plain REST rather than Google's generated client: importing that takes three seconds in every task, its operations poll
the public endpoint whatever endpoint was given, it retries neither 429 nor 500, and it drops fields that it does not
know. Field names and enums are checked against that client's messages by the unit tests.
"""

from __future__ import annotations

import json
import random
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Protocol

from .errors import ApiError, GceError, MalformedAnswerError, NoAnswerError, OperationError, api_error

__all__ = ["Clock", "Compute", "Operation", "Policy", "below_v1", "region_of"]

Json = Dict[str, Any]
PAGE_SIZE = 500  # the most that Compute gives
WAIT_SILENCE = 150.0  # operations.wait answers after two minutes at the latest


@dataclass(frozen=True)
class Clock:
    """Time, so that tests need none."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


@dataclass(frozen=True)
class Policy:
    """How long to insist. All in seconds."""

    timeout: float = 60.0  # silence of one request
    deadline: float = 180.0  # one request with all its tries
    first_pause: float = 0.5
    longest_pause: float = 20.0


@dataclass(frozen=True)
class Operation:
    """Accepted work: where to ask about it and what it is about."""

    path: str
    target: str
    kind: str
    body: Json = field(compare=False, default_factory=dict)


class Response(Protocol):
    """What the client needs of an answer."""

    @property
    def status(self) -> int: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def content(self) -> bytes: ...


class Session(Protocol):
    """One try of one request. Raises NoAnswerError (worth another try) or AuthError (not)."""

    def request(
        self, method: str, url: str, params: Optional[Mapping[str, str]], body: Optional[Json], timeout: float
    ) -> Response: ...


class Compute:
    """``call`` is one request with retries; everything else is built on it. Safe to share between threads."""

    def __init__(
        self, session: Session, endpoint: str, policy: Optional[Policy] = None, clock: Optional[Clock] = None
    ) -> None:
        self._session = session
        self._base = endpoint + "/compute/v1/"
        self._policy = policy or Policy()
        self._clock = clock or Clock()

    def get(self, path: str, params: Optional[Mapping[str, str]] = None) -> Json:
        return self.call("GET", path, params=params)

    def find(self, path: str) -> Optional[Json]:
        """The resource, or None where there is none."""
        try:
            return self.get(path)
        except ApiError as exc:
            if exc.status == 404:
                return None
            raise

    def pages(self, path: str, params: Optional[Mapping[str, str]] = None) -> Iterator[Json]:
        """All pages of a list. A page without items is a page."""
        query = {"maxResults": str(PAGE_SIZE), **(params or {})}
        while True:
            page = self.get(path, query)
            yield page
            token = page.get("nextPageToken")
            if not token:
                return
            query["pageToken"] = str(token)

    def items(self, path: str, params: Optional[Mapping[str, str]] = None) -> List[Json]:
        return [item for page in self.pages(path, params) for item in page.get("items", [])]

    def write(self, method: str, path: str, body: Optional[Json] = None) -> Operation:
        """A request that changes something. One request id for all its tries: Compute then does the work once."""
        answer = self.call(method, path, body=body, params={"requestId": str(uuid.uuid4())})
        if "selfLink" not in answer or "status" not in answer:
            raise MalformedAnswerError("%s %s: the answer is not an operation: %.200s" % (method, path, answer))
        return Operation(
            path=below_v1(answer["selfLink"]),
            target=below_v1(answer.get("targetLink", path)),
            kind=answer.get("operationType", method),
            body=answer,
        )

    def wait(self, operation: Operation, limit: float, poll: float = 2.0) -> Json:
        """Wait until the operation is done. Compute's ``wait`` answers after two minutes at the latest, so one call is
        the rule; ``poll`` seconds pass at least between two calls."""
        end = self._clock.now() + limit
        while True:
            started = self._clock.now()
            body = self.call("POST", operation.path + "/wait")
            if body.get("status") == "DONE":
                return _checked(operation, body)
            if self._clock.now() >= end:
                raise NoAnswerError(
                    "%s of %s is %s after %d s. It goes on without us: run again to see how it ended (operation %s)."
                    % (operation.kind, operation.target, body.get("status"), limit, operation.path)
                )
            self._clock.sleep(max(0.0, min(poll - (self._clock.now() - started), end - self._clock.now())))

    def call(
        self, method: str, path: str, body: Optional[Json] = None, params: Optional[Mapping[str, str]] = None
    ) -> Json:
        """One request, tried again while the failure is temporary and the deadline allows."""
        end = self._clock.now() + self._policy.deadline
        pause = self._policy.first_pause
        while True:
            try:
                return self._once(method, path, body, params, end)
            except (ApiError, NoAnswerError) as exc:
                wait = self._next_pause(exc, pause)
                if wait is None or self._clock.now() + wait >= end:
                    raise
            self._clock.sleep(wait)
            pause = min(2 * pause, self._policy.longest_pause)

    def _next_pause(self, exc: GceError, pause: float) -> Optional[float]:
        """Seconds until the next try, None where trying again is pointless. What the server asks for is kept to."""
        if isinstance(exc, ApiError):
            if not exc.temporary:
                return None
            if exc.retry_after is not None:
                return exc.retry_after
        return pause * (0.5 + self._clock.jitter())

    def _once(
        self, method: str, path: str, body: Optional[Json], params: Optional[Mapping[str, str]], end: float
    ) -> Json:
        request = "%s %s%s" % (method, self._base, path)
        silence = WAIT_SILENCE if path.endswith("/wait") else self._policy.timeout
        silence = max(0.1, min(silence, end - self._clock.now()))
        return _read(request, self._session.request(method, self._base + path, params, body, silence))


def below_v1(url: str) -> str:
    """A resource's path below /compute/v1/, from its URL or from the path itself."""
    return url.split("/compute/v1/", 1)[-1].lstrip("/")


def region_of(zone: str) -> str:
    """``us-east1-d`` is in ``us-east1``."""
    return zone.rsplit("-", 1)[0]


def _read(request: str, response: Response) -> Json:
    try:
        body = json.loads(response.content)
    except ValueError:
        body = response.content.decode("utf-8", "replace")
    if response.status >= 400:
        raise api_error(request, response.status, response.headers, body)
    if response.status >= 300 or not isinstance(body, dict):
        raise MalformedAnswerError(
            "%s: HTTP %d, but the body is no JSON object: %.120r. Is a proxy in between, or is api_endpoint wrong?"
            % (request, response.status, body)
        )
    return body


def _checked(operation: Operation, body: Json) -> Json:
    errors = body.get("error", {}).get("errors", [])
    if errors:
        raise OperationError(operation.target, str(errors[0].get("code")), str(errors[0].get("message")))
    return body

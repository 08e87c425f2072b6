# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory's cache: one file for each question, mode 0600, written whole or not at all.

Ansible's own cache plugins write files that all users may read, and keep a hit's hosts when they were told to flush.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from .fetch import Answer, Question

__all__ = ["FileCache"]


class FileCache:
    """``load`` gives a fresh complete answer or None; ``store`` keeps one. ``notes`` tells why a file was not used."""

    def __init__(self, folder: Path, timeout: float, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._timeout = timeout
        self._now = now
        self.notes: list[str] = []

    def path(self, question: Question) -> Path:
        return self._folder / f"gce_nvl72_{question.digest()}.json"

    def load(self, question: Question) -> Answer | None:
        path = self.path(question)
        try:
            with path.open("rb") as file:
                if not self._ours(file.fileno(), path):
                    return None
                data = json.load(file)
            age = self._now() - data["time"]
            fresh = not self._timeout or 0 <= age < self._timeout
            return Answer(**data["answer"]) if fresh else None
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as exc:
            self.notes.append(f"the cache file {path} is not readable and is not used: {exc}")
            return None

    def store(self, question: Question, answer: Answer) -> None:
        """Only a complete answer is kept: a partial one must not take the place of a complete one."""
        if answer.missing:
            return
        path = self.path(question)
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        data = {"time": self._now(), "question": asdict(question), "answer": asdict(answer)}
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(data, file, separators=(",", ":"))
        temporary.replace(path)

    def _ours(self, handle: int, path: Path) -> bool:
        """Hosts of a file that another user may write would be that user's hosts."""
        status = os.fstat(handle)
        if status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            return True
        self.notes.append(f"the cache file {path} may be written by others and is not used")
        return False

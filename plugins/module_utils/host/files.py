# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A machine's files below a root directory, and writing them so that no reader ever sees half a file."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from typing import List, Optional

from ..errors import ClusterError

__all__ = ["Root"]

_MASK = "/dev/null"


class Root:
    """Paths are absolute as on the machine (``/etc/fstab``). Tests put another directory in front of them.

    Text is decoded with surrogateescape, so what is read and written back is the same byte for byte.
    """

    def __init__(self, prefix: str = "/") -> None:
        self._prefix = prefix.rstrip("/")

    def path(self, path: str) -> str:
        return self._prefix + path

    def read(self, path: str) -> Optional[str]:
        """The text, or None when there is no such file (or only a dangling link)."""
        try:
            with open(self.path(path), encoding="utf-8", errors="surrogateescape", newline="") as stream:
                return stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, path: str) -> bool:
        return os.path.lexists(self.path(path))

    def names(self, directory: str, suffix: str = "") -> List[str]:
        """Sorted names in a directory; empty when there is none."""
        try:
            return sorted(name for name in os.listdir(self.path(directory)) if name.endswith(suffix))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def is_masked(self, path: str) -> bool:
        """systemd's way to switch a file off: a link to /dev/null of the same name, or an empty file."""
        full = self.path(path)
        if os.path.islink(full):
            return os.readlink(full) == _MASK
        return os.path.isfile(full) and os.path.getsize(full) == 0

    def mask(self, path: str) -> None:
        """Put a link to /dev/null at ``path``. What stood there is kept beside it under a name nobody reads."""
        full = self.path(path)
        if self.is_masked(path):
            return
        os.makedirs(os.path.dirname(full), exist_ok=True)
        if os.path.isfile(full) and not os.path.islink(full):
            self.set_aside(path)
        temporary = full + ".gpufleet-new"
        if os.path.lexists(temporary):
            os.unlink(temporary)
        os.symlink(_MASK, temporary)
        os.rename(temporary, full)

    def set_aside(self, path: str) -> None:
        os.rename(self.path(path), self.path(path) + ".gpufleet-disabled")

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        """Write to a temporary file in the same directory, then rename. An existing file keeps owner and mode.

        Raises ClusterError (no space, read-only file system); the old file is whole then.
        """
        try:
            self._write(os.path.realpath(self.path(path)), text, mode)
        except OSError as exc:
            raise ClusterError("write %s: %s; the old file is unchanged" % (path, exc.strerror)) from exc

    def _write(self, full: str, text: str, mode: int) -> None:
        directory = os.path.dirname(full)
        os.makedirs(directory, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=".gpufleet-", dir=directory)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            self._keep_attributes(full, temporary, mode)
            self._replace(temporary, full)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)

    @staticmethod
    def _keep_attributes(full: str, temporary: str, mode: int) -> None:
        if os.path.exists(full):
            shutil.copystat(full, temporary)
            status = os.stat(full)
            os.chown(temporary, status.st_uid, status.st_gid)
            os.utime(temporary)
        else:
            os.chmod(temporary, mode)

    @staticmethod
    def _replace(temporary: str, full: str) -> None:
        try:
            os.rename(temporary, full)
        except OSError as exc:
            if exc.errno != errno.EBUSY:
                raise
            # A bind mount, as a container's /etc/hosts: it cannot be replaced, only rewritten in place.
            shutil.copyfile(temporary, full)

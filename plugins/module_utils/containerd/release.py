# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A release of containerd, and the version of the configuration's format that it reads without migrating."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Tuple

from ..errors import ConfigError

__all__ = ["Release", "parse_release"]

# containerd's own constant ConfigVersion: 2 is the last that 1.x reads (ValidateV2 refuses more), 3 came with 2.0,
# 4 with 2.3. A later release reads what is older, so one that is not known yet gets the newest.
_FORMATS: Tuple[Tuple[Tuple[int, int], int], ...] = (((2, 3), 4), ((2, 0), 3), ((1, 7), 2))
# 1.6 has neither CDI nor NRI.
OLDEST = (1, 7)


@dataclass(frozen=True)
class Release:
    """``text`` is the version as containerd prints it: ``1.7.24~ds1``, ``v2.3.4``."""

    major: int
    minor: int
    text: str

    @property
    def format(self) -> int:
        return next(version for least, version in _FORMATS if self.at_least(*least))

    def at_least(self, major: int, minor: int) -> bool:
        return (self.major, self.minor) >= (major, minor)


def parse_release(output: str) -> Release:
    """From the output of ``containerd --version``. Raises ConfigError when it is none, or a release without CDI."""
    words = output.split()
    match = re.match(r"v?(\d+)\.(\d+)\.\d+", words[2]) if len(words) > 2 and words[0] == "containerd" else None
    if match is None:
        raise ConfigError("read the version of containerd: %r is not its answer to --version" % output.strip()[:200])
    release = Release(int(match.group(1)), int(match.group(2)), words[2])
    if not release.at_least(*OLDEST):
        raise ConfigError(
            "containerd %s is too old: device injection (CDI) and NRI came with %d.%d; install that or later"
            % (release.text, *OLDEST)
        )
    return release

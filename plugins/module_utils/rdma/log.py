# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The raw output of all measurements of a run, in one file of the host."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Sequence

from ..errors import MeasureError
from .outcome import Outcome

__all__ = ["write_log"]


def write_log(folder: str, run_id: str, outcomes: Sequence[Outcome]) -> str:
    """All raw outputs in one file of the host. Raises MeasureError."""
    path = os.path.join(folder, "rdma-%s.log" % run_id)
    try:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".rdma-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                for outcome in outcomes:
                    step = outcome.step
                    title = "%s %s from %s to %s" % (outcome.network, step.test, step.client, step.server)
                    stream.write("==> %s: %s\n%s\n\n" % (title, outcome.reading.state, outcome.raw))
            os.chmod(temporary, 0o644)
            os.rename(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise
    except OSError as exc:
        raise MeasureError("writing %s: %s; choose another log directory" % (path, exc.strerror)) from exc
    return path

"""What other users of a computer can see of its processes: their arguments."""

from __future__ import annotations

from pathlib import Path


def processes_that_show(*secrets: str) -> list[str]:
    """The command lines that contain one of the secrets."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if any(secret in line for secret in secrets):
            found.append(line)
    return found

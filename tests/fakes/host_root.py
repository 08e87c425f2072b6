"""A machine's files in a temporary directory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.gpufleet.cluster.plugins.module_utils.host.files import Root


def host_root(directory: Path, files: Mapping[str, str]) -> Root:
    """``files``: text by absolute path; ``-> target`` makes a symbolic link."""
    for path, text in files.items():
        full = directory / path.lstrip("/")
        full.parent.mkdir(parents=True, exist_ok=True)
        if text.startswith("-> "):
            full.symlink_to(text[3:])
        else:
            full.write_bytes(text.encode())
    return Root(str(directory))


def tree(directory: Path) -> dict[str, str]:
    """The inverse: what the machine's files are now."""
    found = {}
    for folder, _dirs, names in os.walk(directory):
        for name in names:
            full = Path(folder) / name
            key = "/" + str(full.relative_to(directory))
            found[key] = f"-> {full.readlink()}" if full.is_symlink() else full.read_bytes().decode()
    return found

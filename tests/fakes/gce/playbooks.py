"""Run the playbooks for Google Cloud against the fake, as a user does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .scenario import PROJECT, RESERVATION, ZONE
from .server import FakeCompute

ROOT = Path(__file__).parents[3]


def play(
    fake: FakeCompute, playbook: str, *arguments: str, env: dict[str, str] | None = None, **variables: Any
) -> subprocess.CompletedProcess[str]:
    argv, environment = command(fake, playbook, *arguments, **variables)
    environment |= env or {}
    return subprocess.run(
        argv,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
        timeout=600,
        stdin=subprocess.DEVNULL,
    )


def command(fake: FakeCompute, playbook: str, *arguments: str, **variables: Any) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment of one run. Without an inventory of its own it has only the controller."""
    inventory = [] if "-i" in arguments else ["-i", "localhost,"]
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{playbook}.yml"]
    argv += [*inventory, *arguments, "-e", json.dumps(variables)]
    cloud = {"GCP_AUTH_KIND": "anonymous", "GPUFLEET_GCE_ENDPOINT": fake.url}
    return argv, {**os.environ, **cloud, "ANSIBLE_NOCOLOR": "1"}


def ssh_to_here(folder: Path) -> tuple[Path, Path]:
    """A program in the place of ssh that runs the command on this computer, and the file that it notes its arguments
    in. (For ANSIBLE_SSH_EXECUTABLE.)"""
    program, notes = folder / "ssh", folder / "notes"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$*" >> {notes}\nfor last; do :; done\nHOME={folder} exec sh -c "$last"\n'
    )
    program.chmod(0o755)
    return program, notes


def fleet(**domains: int) -> dict[str, Any]:
    wanted = [{"name": name, "machines": [f"w-{name}-{n:02d}" for n in range(size)]} for name, size in domains.items()]
    return {
        "gce_network_project": PROJECT,
        "gce_network_zone": ZONE,
        "gce_nodes_project": PROJECT,
        "gce_nodes_zone": ZONE,
        "gce_nodes_reservation": RESERVATION,
        "gce_nodes_domains": wanted,
    }

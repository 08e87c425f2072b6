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


def play(fake: FakeCompute, playbook: str, *arguments: str, **variables: Any) -> subprocess.CompletedProcess[str]:
    inventory = [] if "-i" in arguments else ["-i", "localhost,"]
    argv = [str(Path(sys.executable).with_name("ansible-playbook")), f"playbooks/{playbook}.yml"]
    argv += [*inventory, *arguments, "-e", json.dumps(variables)]
    env = {**os.environ, "GCP_AUTH_KIND": "anonymous", "GPUFLEET_GCE_ENDPOINT": fake.url, "ANSIBLE_NOCOLOR": "1"}
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=ROOT, env=env, timeout=600)


def fleet(**domains: int) -> dict[str, Any]:
    wanted = [{"name": name, "machines": [f"w-{name}-{n:02d}" for n in range(size)]} for name, size in domains.items()]
    return {
        "gce_network_project": PROJECT,
        "gce_network_zone": ZONE,
        "gce_nodes_project": PROJECT,
        "gce_nodes_zone": ZONE,
        "gce_nodes_reservation": RESERVATION,
        "gce_nodes_domains": wanted,
        "provision_site": False,
    }

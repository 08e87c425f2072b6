"""inventories/lab/hosts.py: what ansible-inventory makes of the running lab, and of none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.lab.plan import Node, make_plan
from tools.lab.state import State, read_state, write_state

SCRIPT = Path(__file__).parents[2] / "inventories/lab/hosts.py"


def listing(cache: Path) -> dict:
    argv = [sys.executable, SCRIPT, "--list"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env={"XDG_CACHE_HOME": str(cache)})
    return json.loads(done.stdout)


def expected(nodes: tuple[Node, ...]) -> dict:
    return {
        "_meta": {
            "hostvars": {
                node.name: {"ansible_host": "127.0.0.1", "ansible_port": node.ssh_port, "lab_number": node.number}
                for node in nodes
            }
        },
        "control_plane": {"hosts": ["cp-1"]},
        "workers": {"hosts": [node.name for node in nodes[1:]]},
    }


@pytest.fixture
def cache(tmp_path):
    (tmp_path / "gpufleet/lab").mkdir(parents=True)
    return tmp_path


def test_without_a_lab_the_default_shape_is_listed(cache):
    assert listing(cache) == expected(make_plan(1))


def test_the_running_lab_is_listed(cache):
    write_state(cache / "gpufleet/lab/state.json", State(make_plan(3), "tcg", "0123"))
    assert listing(cache) == expected(make_plan(3))


def test_state_is_read_as_it_was_written(cache):
    path = cache / "gpufleet/lab/state.json"
    assert read_state(path) is None
    state = State(make_plan(2), "kvm", "0123", {"leg-down": ["worker-2"]})
    write_state(path, state)
    assert read_state(path) == state
    assert [entry.name for entry in path.parent.iterdir()] == ["state.json"]


def test_one_host_of_the_default_shape(cache):
    argv = [sys.executable, SCRIPT, "--host", "worker-1"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, env={"XDG_CACHE_HOME": str(cache)})
    assert json.loads(done.stdout) == expected(make_plan(1))["_meta"]["hostvars"]["worker-1"]

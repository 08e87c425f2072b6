"""Planted secrets: not in what is printed at -vvvv, not in any process's arguments, not in metadata that we write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.gce import FakeCompute
from tests.fakes.gce.processes import processes_that_show
from tests.fakes.gce.scenario import PROJECT, REGION, ZONE, a4x, zone_path

ROOT = Path(__file__).parents[2]
SECRET = "plant0.0123456789abcdef"  # a kubeadm token's form
PLAYBOOK = """
- hosts: localhost
  connection: local
  gather_facts: false
  module_defaults:
    gpufleet.cluster.gce_instance: &where
      project: {project}
      zone: {zone}
      poll_interval: 0
    gpufleet.cluster.gce_topology_info: *where
  vars:
    ansible_python_interpreter: "{{{{ ansible_playbook_python }}}}"
    machine:
      names: [cp-1]
      machine_type: e2-standard-4
      image: fleet-x86-v1
      interfaces: [{{subnetwork: fleet-gvnic-0}}]
      labels: {{role: control-plane, stage: new}}
      tags: [fleet]
  tasks:
    - name: Change labels and metadata of a machine that has secrets in its metadata
      gpufleet.cluster.gce_instance: "{{{{ machine | combine({{'metadata': {{'fleet-version': '8'}}}}) }}}}"
    - name: Read all machines
      gpufleet.cluster.gce_topology_info:
    - name: Be refused
      vars:
        planted: {{join: "{{{{ lookup('ansible.builtin.env', 'PLANTED_JOIN') }}}}"}}
      gpufleet.cluster.gce_instance: "{{{{ machine | combine({{'metadata': planted}}) }}}}"
"""


@pytest.fixture
def playbook(tmp_path: Path) -> Path:
    path = tmp_path / "playbook.yml"
    path.write_text(PLAYBOOK.format(project=PROJECT, zone=ZONE))
    return path


def test_modules_show_no_secret(playbook: Path) -> None:
    store = a4x()
    machine = store.get(zone_path("instances", "cp-1"))
    machine["networkInterfaces"][0]["subnetwork"] = f"projects/{PROJECT}/regions/{REGION}/subnetworks/fleet-gvnic-0"
    machine["metadata"]["items"].append({"key": "join-token", "value": SECRET})
    machine["labelFingerprint"] = "f0"
    store.operation_reads = 1
    with FakeCompute(store, token="ya29.planted-token") as fake:
        shown: list[str] = []
        fake.on_request = lambda _request, _status: shown.extend(processes_that_show(SECRET, "planted-token"))
        env = {
            "GCP_AUTH_KIND": "accesstoken",
            "GCP_ACCESS_TOKEN": fake.token,
            "GPUFLEET_GCE_ENDPOINT": fake.url,
            "PLANTED_JOIN": SECRET,
            "ANSIBLE_INJECT_INVOCATION": "true",  # shows the arguments of every task
        }
        argv = [str(Path(sys.executable).with_name("ansible-playbook")), "-i", "localhost,", "-vvvv", "--diff"]
        done = subprocess.run(
            [*argv, str(playbook)], env={**os.environ, **env}, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert "metadata join looks like a secret" in done.stdout, done.stdout + done.stderr
        # What others put into the metadata goes back to Compute as it was, and nowhere else.
        writes = {request.path.rsplit("/", 1)[1]: request.body for request in fake.writes}
        assert sorted(writes) == ["setLabels", "setMetadata"]
        assert {"key": "join-token", "value": SECRET} in writes["setMetadata"]["items"]
    output = done.stdout + done.stderr
    assert '+    "fleet-version": "8"' in output or "fleet-version" in output
    assert (SECRET in output, "planted-token" in output, shown) == (False, False, [])

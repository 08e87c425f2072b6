"""One owner for the ports of a Compute Engine machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.guest_agent import (
    agent_present,
    without_interface_setup,
)

CASES = {
    "no key": (
        "# ours\n[Daemons]\nsetup = true\n[NetworkInterfaces]\nip_forwarding = true\n",
        "# ours\n[Daemons]\nsetup = true\n[NetworkInterfaces]\nsetup = false\nip_forwarding = true\n",
    ),
    "true": (
        "[NetworkInterfaces]\n# keep\nsetup=true  ; why\ndhcp_command =\n[Accounts]\nsetup = true\n",
        "[NetworkInterfaces]\n# keep\nsetup=false  ; why\ndhcp_command =\n[Accounts]\nsetup = true\n",
    ),
    "already off": ("[NetworkInterfaces]\nSetup = False\n", "[NetworkInterfaces]\nSetup = False\n"),
    "windows line ends": (
        "[NetworkInterfaces]\r\nsetup=true\r\nx=1\r\n",
        "[NetworkInterfaces]\r\nsetup=false\r\nx=1\r\n",
    ),
    "no section": ("[Accounts]\nx = 1", "[Accounts]\nx = 1\n[NetworkInterfaces]\nsetup = false\n"),
    "section on the last line": ("[NetworkInterfaces]", "[NetworkInterfaces]\nsetup = false\n"),
    "empty": ("", "[NetworkInterfaces]\nsetup = false\n"),
    "no file": (None, "[NetworkInterfaces]\nsetup = false\n"),
}


@pytest.mark.parametrize(("before", "after"), CASES.values(), ids=CASES)
def test_setup_is_off_once(before: str | None, after: str) -> None:
    assert without_interface_setup(before) == after
    assert without_interface_setup(after) == after


@pytest.mark.parametrize(
    ("path", "present"),
    [("etc/default/instance_configs.cfg", True), ("usr/bin/google_guest_agent", True), ("etc/motd", False)],
)
def test_agent_present(tmp_path: Path, path: str, present: bool) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).touch()
    assert agent_present(str(tmp_path)) is present

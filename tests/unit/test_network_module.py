"""The module's own exits; everything behind them is tested with the library."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args
from ansible_collections.gpufleet.cluster.plugins.modules import network_config


def run(capsys: pytest.CaptureFixture[str], **arguments: Any) -> dict[str, Any]:
    with patch_module_args(arguments), pytest.raises(SystemExit):
        network_config.main()
    return json.loads(capsys.readouterr().out)


CASES = {
    "mistakes in the list": (
        {"networks": [{"name": "Bad"}], "_ansible_check_mode": True},
        "network_config: node_networks[0].name = 'Bad': a name of lower-case letters, digits and _",
    ),
    "a port that is not there": (
        {"networks": [{"name": "x", "interface": "x", "members": [{"mac": "02:00:00:00:00:77"}]}]},
        "network_config: x.members[0]: mac 02:00:00:00:00:77: no such port on this host",
    ),
    "confirmation of nothing": (
        {"networks": [], "operation": "confirm"},
        "operation is confirm but all of the following are missing: transaction",
    ),
    "confirmation of an unknown change": (
        {"networks": [], "operation": "confirm", "transaction": "20000101T000000-none"},
        "network_config: there is no change of the network 20000101T000000-none on this host",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), CASES.values(), ids=CASES)
def test_failures(capsys: pytest.CaptureFixture[str], arguments: dict[str, Any], message: str) -> None:
    result = run(capsys, **arguments)
    assert result["failed"] is True
    assert result["msg"].startswith(message)

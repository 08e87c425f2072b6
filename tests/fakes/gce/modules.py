"""Run a gce_ module in this process against the fake, as Ansible would."""

from __future__ import annotations

import importlib
import json
from typing import Any

import pytest
from ansible.module_utils.testing import patch_module_args

from . import schema
from .scenario import PROJECT
from .server import FakeCompute

schema.load()  # once, and not within the time limit of the first request


def run_module(
    capsys: pytest.CaptureFixture[str], fake: FakeCompute, name: str, /, *, check: bool = False, **options: Any
) -> dict[str, Any]:
    """The module's result; ``failed`` is always there."""
    module = importlib.import_module(f"ansible_collections.gpufleet.cluster.plugins.modules.{name}")
    arguments = {
        "project": PROJECT,
        "auth_kind": "anonymous",
        "api_endpoint": fake.url,
        "request_deadline": 20,
        "request_timeout": 20,
        "poll_interval": 0,
        "_ansible_check_mode": check,
        **options,
    }
    capsys.readouterr()
    with patch_module_args(arguments), pytest.raises(SystemExit):
        module.main()
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return {"failed": False, **result}

"""The inventory plugin as a user runs it: exit codes, the cache across processes, and what is printed at -vvvv."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.gce import Answer, FakeCompute
from tests.fakes.gce.inventory import config
from tests.fakes.gce.processes import processes_that_show
from tests.fakes.gce.scenario import DOMAINS, a4x, zone_path

ROOT = Path(__file__).parents[2]


def ansible_inventory(
    folder: Path, options: dict[str, Any], *arguments: str, **env: str
) -> subprocess.CompletedProcess[str]:
    path = folder / "fleet.gce_nvl72.yml"
    path.write_text(yaml.safe_dump(options))
    argv = [str(Path(sys.executable).with_name("ansible-inventory")), "-i", str(path), *arguments]
    return subprocess.run(
        argv, capture_output=True, text=True, check=False, cwd=ROOT, env={**os.environ, **env}, timeout=60
    )


def machines(letter: str) -> list[str]:
    every = [f"a4x-{letter}-{number:02d}" for number in range(18)]
    return [name for name in every if name != "a4x-b-17"]


def test_a_failing_source_ends_the_run(tmp_path: Path) -> None:
    with FakeCompute() as fake:
        fake.script.plant("GET", "instances", Answer(200, b"<html>sign in</html>"), forever=True)
        done = ansible_inventory(tmp_path, config(fake), "--graph")
        assert done.returncode != 0
        assert "is no JSON object" in done.stderr
        lenient = ansible_inventory(tmp_path, config(fake, fatal=False), "--graph")
        assert lenient.returncode == 0


def test_secrets_stay_out_and_a_hit_imports_no_http(tmp_path: Path) -> None:
    store = a4x()
    planted = {"join-token": "PLANTED-abcdef.0123", "startup-script": "PLANTED-script", "ssh-keys": "PLANTED-key"}
    machine = store.get(zone_path("instances", "a4x-a-00"))
    machine["metadata"] = {"items": [{"key": key, "value": value} for key, value in planted.items()]}
    cache = tmp_path / "cache"
    with FakeCompute(store, token="PLANTED-token") as fake:
        shown: list[str] = []
        fake.on_request = lambda _request, _status: shown.extend(processes_that_show("PLANTED"))
        options = config(fake, auth_kind="accesstoken", cache=True, cache_folder=str(cache))
        cold = ansible_inventory(tmp_path, options, "--list", "-vvvv", GCP_ACCESS_TOKEN="PLANTED-token")
        assert cold.returncode == 0, cold.stderr
        asked = len(fake.log)
        # Neither HTTP nor Google's libraries can be imported now.
        for name in ("requests", "google"):
            (tmp_path / "poison" / name).mkdir(parents=True)
            (tmp_path / "poison" / name / "__init__.py").write_text("raise ImportError('not on a cache hit')\n")
        hit = ansible_inventory(tmp_path, options, "--list", PYTHONPATH=str(tmp_path / "poison"))
        assert hit.returncode == 0, hit.stderr
        assert len(fake.log) == asked
        assert '"a4x-b-17"' in hit.stdout
        store.drop(zone_path("instances", "a4x-b-17"))
        flushed = ansible_inventory(tmp_path, options, "--graph", "--flush-cache", GCP_ACCESS_TOKEN="PLANTED-token")
        assert flushed.stdout == ansible_inventory(tmp_path, options, "--graph").stdout
        graph = flushed.stdout.split("  |--@")
        domains = {part.split(":")[0]: re.findall(r"--(\S+)", part) for part in graph if part.startswith("nvl_")}
        assert domains == {f"nvl_{domain}": machines(letter) for domain, letter in zip(DOMAINS, "ab", strict=True)}
    (file,) = cache.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert shown == []
    assert "PLANTED" not in cold.stdout + cold.stderr + hit.stdout + file.read_text()

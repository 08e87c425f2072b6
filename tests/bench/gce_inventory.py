"""Measure ``gce_nvl72`` against ``google.cloud.gcp_compute`` on the same fake API in the same run.

    python -m tests.bench.gce_inventory [--machines 10000] [--rounds 3] [--json FILE]

What is measured is ``ansible-inventory --graph`` in a process of its own: wall time (the best round), its CPU time (for
a busy computer), its peak memory, and requests that reached the fake. No constructed expressions, except in the two
rows that price one. The floor is a plugin that adds as many constant hosts and nothing else. The stock plugin has a
fixed address: its process redirects ``https://www.googleapis.com`` to the fake inside ``requests`` (see ``_REDIRECT``);
nothing else of it is changed. The fake keeps its encoded pages, and an unmeasured run fills ours.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.fakes.gce import FakeCompute, Store
from tests.fakes.gce.scenario import CLUSTER, CLUSTER_BLOCK, PROJECT, instance, zone_path
from tests.fakes.gce.store import COMPUTE

ROOT = Path(__file__).parents[2]
ZONES = ("us-east1-b", "us-east1-c", "us-east1-d", "us-central1-a")
DOMAIN = 18

_REDIRECT = """
import sys
import requests
send = requests.Session.send
def redirected(self, request, **options):
    request.url = request.url.replace("https://www.googleapis.com", {url!r})
    return send(self, request, **options)
requests.Session.send = redirected
from ansible.cli.inventory import main
main(sys.argv[1:] and ["ansible-inventory", *sys.argv[1:]])
"""

_FLOOR = '''
DOCUMENTATION = """
name: floor
short_description: constant hosts
description: adds constant hosts
options:
  plugin: {description: name, type: str, required: true}
  machines: {description: how many, type: int, required: true}
"""
from ansible.plugins.inventory import BaseInventoryPlugin

class InventoryModule(BaseInventoryPlugin):
    NAME = "floor"

    def verify_file(self, path):
        return path.endswith("floor.yml")

    def parse(self, inventory, loader, path, cache=True):
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        for number in range(self.get_option("machines")):
            inventory.add_host(f"host-{number:05d}")
'''


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    cpu_seconds: float
    peak_mib: float
    requests: int


def fleet(machines: int) -> Store:
    """Machines with six interfaces, in domains of 18, spread over four zones."""
    store = Store()
    for number in range(machines):
        zone, domain = ZONES[number % len(ZONES)], number // DOMAIN
        body = instance(f"a4x-{number:05d}", metadata={"items": [{"key": "startup-script", "value": "#" * 600}]})
        place = {"cluster": CLUSTER, "block": CLUSTER_BLOCK, "subblock": f"{domain:08x}", "host": f"{number:06x}"}
        body["resourceStatus"] = {"physicalHostTopology": place}
        for index, nic in enumerate(body["networkInterfaces"]):
            nic["networkIP"] = f"10.{index}.{number // 250}.{number % 250 + 2}"
        body["zone"] = f"{COMPUTE}{zone_path(zone=zone)}"
        store.put(zone_path("instances", body["name"], zone=zone), body)
    return store


class Bench:
    """One fake and one scratch folder, one row after another."""

    def __init__(self, fake: FakeCompute, folder: Path, machines: int, rounds: int) -> None:
        self.fake, self.folder, self.machines, self.rounds = fake, folder, machines, rounds
        (folder / "plugins").mkdir()
        (folder / "plugins" / "floor.py").write_text(_FLOOR)
        (folder / "redirect.py").write_text(_REDIRECT.format(url=fake.url))

    def row(self, name: str, suffix: str, options: dict[str, Any], *, rounds: int = 0, primed: bool = False) -> Row:
        """The best of some rounds. ``primed`` runs once before, to fill a cache."""
        path = self.folder / f"{name.replace(' ', '-')}.{suffix}"
        path.write_text(yaml.safe_dump(options))
        stock = options["plugin"] == "google.cloud.gcp_compute"
        program = self.folder / "redirect.py" if stock else Path(sys.executable).with_name("ansible-inventory")
        argv = [sys.executable, str(program), "-i", str(path), "--graph"]
        if primed:
            self._run(argv)
        runs = [self._run(argv) for _ in range(rounds or self.rounds)]
        row = Row(name, min(r[0] for r in runs), min(r[1] for r in runs), max(r[2] for r in runs), runs[-1][3])
        times = f"{row.seconds:8.2f} s {row.cpu_seconds:8.2f} s CPU"
        print(f"  {row.name:<36} {times} {row.peak_mib:8.0f} MiB {row.requests:5d} requests", flush=True)
        return row

    def _run(self, argv: list[str]) -> tuple[float, float, float, int]:
        before = len(self.fake.log)
        env = {**os.environ, "ANSIBLE_INVENTORY_PLUGINS": str(self.folder / "plugins")}
        env |= {"ANSIBLE_INVENTORY_ENABLED": "auto", "ANSIBLE_LOCALHOST_WARNING": "false"}
        output = self.folder / "output"
        with output.open("wb") as file:
            started = time.monotonic()
            process = subprocess.Popen(argv, stdout=file, stderr=subprocess.STDOUT, cwd=ROOT, env=env)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        lines = output.read_text().splitlines()
        hosts = {line.rsplit("--", 1)[1] for line in lines if "|--" in line and "--@" not in line}
        if process.returncode or len(hosts) != self.machines:
            raise SystemExit(f"{argv}: rc {process.returncode}, {len(hosts)} hosts\n" + "\n".join(lines[-20:]))
        return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, len(self.fake.log) - before


def measure(bench: Bench, stock_rounds: int) -> list[Row]:
    stock: dict[str, Any] = {
        "plugin": "google.cloud.gcp_compute",
        "projects": [PROJECT],
        "auth_kind": "accesstoken",
        "access_token": "none",
    }
    ours: dict[str, Any] = {
        "plugin": "gpufleet.cluster.gce_nvl72",
        "projects": [PROJECT],
        "auth_kind": "anonymous",
        "api_endpoint": bench.fake.url,
    }
    kept = {"cache": True, "cache_folder": str(bench.folder / "ours")}
    stock_kept = {"cache": True, "cache_plugin": "jsonfile", "cache_connection": str(bench.folder / "stock")}
    yml = "gce_nvl72.yml"
    bench.row("unmeasured, fills the fake's pages", yml, ours, rounds=1)
    return [
        bench.row("floor: constant hosts", "floor.yml", {"plugin": "floor", "machines": bench.machines}),
        bench.row("gce_nvl72 cold", yml, ours),
        bench.row("gce_nvl72 cached", yml, {**ours, **kept}, primed=True),
        bench.row("gcp_compute cold", "gcp.yml", stock, rounds=stock_rounds),
        bench.row("gcp_compute cached", "gcp.yml", {**stock, **stock_kept}, rounds=stock_rounds, primed=True),
        bench.row("gce_nvl72 cached, one compose", yml, {**ours, **kept, "compose": {"where": "gce_zone"}}),
        bench.row(
            "gce_nvl72 cached, one keyed_groups",
            yml,
            {**ours, **kept, "keyed_groups": [{"prefix": "at", "key": "gce_region"}]},
        ),
    ]


def ratios(rows: list[Row]) -> dict[str, float]:
    by_name = {row.name: row for row in rows}
    ours, stock = by_name["gce_nvl72 cold"], by_name["gcp_compute cold"]
    hit, stock_hit = by_name["gce_nvl72 cached"], by_name["gcp_compute cached"]
    return {
        "cold: times faster (aim 8)": stock.seconds / ours.seconds,
        "cached: times faster (aim 12)": stock_hit.seconds / hit.seconds,
        "cold: CPU time": stock.cpu_seconds / ours.cpu_seconds,
        "cached: CPU time": stock_hit.cpu_seconds / hit.cpu_seconds,
        "cold: share of the memory (aim 0.40)": ours.peak_mib / stock.peak_mib,
        "cached: share of the memory (aim 0.40)": hit.peak_mib / stock_hit.peak_mib,
        "cold: share of the requests": ours.requests / stock.requests,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--machines", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stock-rounds", type=int, default=1, help="rounds of the stock plugin, which is slow")
    parser.add_argument("--json", type=Path, help="write the numbers to this file, too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, FakeCompute(fleet(arguments.machines)) as fake:
        print(f"{arguments.machines} machines with six interfaces, {os.cpu_count()} cores")
        rows = measure(Bench(fake, Path(folder), arguments.machines, arguments.rounds), arguments.stock_rounds)
    found = ratios(rows)
    for name, value in found.items():
        print(f"  {name:<40} {value:6.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": [asdict(row) for row in rows], "ratios": found}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

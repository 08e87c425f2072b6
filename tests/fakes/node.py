"""A node for tests of the network code: a root folder, a netplan that is real, and a network that is a table.

What the kernel would have lies in ``node.json`` beside the root, so that it outlives a killed process: the timers of
systemd, and the live network, which ``netplan apply`` sets from the file that is in place.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gpufleet.cluster.plugins.module_utils.network.plan import Plan
from ansible_collections.gpufleet.cluster.plugins.module_utils.runner import (
    RC_NOT_FOUND,
    CommandResult,
    SubprocessRunner,
)


def live_json(plan: Plan) -> dict[str, Any]:
    """What ``ip -j -N`` prints on a host where the plan is in effect."""
    devices: dict[str, dict[str, Any]] = {}
    routes, rules = [], []
    for link in plan.links:
        for port in link.ports:
            devices[port.name] = {"mtu": link.mtu or 1500, "master": link.interface if link.kind == "bond" else None}
        devices.setdefault(link.interface, {"mtu": link.mtu or 1500})["addresses"] = [str(a) for a in link.addresses]
        routes += [
            {"dst": r.to, "gateway": r.via or "", "dev": link.interface, "table": str(r.table or 254)}
            for r in link.routes
        ]
        for rule in link.rules:
            source = ipaddress.ip_network(rule.source or "")
            prefix = {} if source.prefixlen == source.max_prefixlen else {"srclen": source.prefixlen}
            entry = {"src": str(source.network_address), **prefix, "table": str(rule.table), "priority": rule.priority}
            rules.append(entry)
    return {"address": [_device(name, data) for name, data in devices.items()], "route": routes, "rule": rules}


_answers: dict[tuple[Any, ...], tuple[CommandResult, dict[str, str]]] = {}


def _netplan(argv: Sequence[str], scratch: Path) -> CommandResult:
    """The real netplan, but each question is asked only once: hundreds of runs of a test ask the same few."""
    before = _tree(scratch)
    question = (*(word for word in argv if word != str(scratch)), *before.items())
    if question not in _answers:
        done = SubprocessRunner().run(argv)
        _answers[question] = (done, _tree(scratch))
        return done
    done, after = _answers[question]
    for path in before.keys() - after.keys():
        (scratch / path).unlink()
    for path, text in after.items():
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        (scratch / path).write_text(text)
    return done


def _tree(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_text() for path in files}


def _device(name: str, data: dict[str, Any]) -> dict[str, Any]:
    info = [
        {"local": address.split("/")[0], "prefixlen": int(address.split("/")[1]), "scope": "0"}
        for address in data.get("addresses", [])
    ]
    flags = ["BROADCAST", "MULTICAST", "UP", "LOWER_UP"]
    return {"ifname": name, "flags": flags, "mtu": data["mtu"], "master": data.get("master"), "addr_info": info}


class FakeNode:
    """A Runner. ``effects``: text of our netplan file (None: no file) -> live network that applying it gives."""

    def __init__(self, root: Path, effects: dict[str | None, dict[str, Any]], ours: str) -> None:
        self.root = root
        self.memory = root.parent / "node.json"
        self.effects = effects
        self.ours = ours
        if not self.memory.exists():
            self._remember({"timers": {}, "live": effects[None], "applied": 0, "calls": []})

    def recall(self) -> dict[str, Any]:
        return json.loads(self.memory.read_text())

    def _remember(self, data: dict[str, Any]) -> None:
        self.memory.write_text(json.dumps(data))

    def set_live(self, live: dict[str, Any]) -> None:
        self._remember({**self.recall(), "live": live})

    def run(self, argv: Sequence[str], timeout: float | None = None, stdin: str | None = None) -> CommandResult:
        if "--root-dir" in argv:
            return _netplan(argv, Path(argv[argv.index("--root-dir") + 1]))
        memory = self.recall()
        memory["calls"].append(list(argv))
        answer = self._answer(list(argv), memory)
        self._remember(memory)
        return answer

    def _answer(self, argv: list[str], memory: dict[str, Any]) -> CommandResult:
        if argv[0] == "systemd-run":
            unit = argv[1].removeprefix("--unit=")
            memory["timers"][unit] = argv[-2:]
        elif argv[:2] == ["systemctl", "stop"]:
            memory["timers"].pop(argv[2].removesuffix(".timer"), None)
        elif argv[:2] == ["systemctl", "enable"]:
            wanted = self.root / "etc/systemd/system/sysinit.target.wants" / argv[2]
            wanted.parent.mkdir(parents=True, exist_ok=True)
            wanted.unlink(missing_ok=True)
            wanted.symlink_to(Path("..") / argv[2])
        elif argv in (["netplan", "apply"], ["nmcli", "connection", "reload"]):
            path = self.root / self.ours.lstrip("/")
            memory["live"] = self.effects[path.read_text() if path.exists() else None]
            memory["applied"] += 1
        elif argv[:3] == ["ip", "-j", "-N"]:
            family6, topic = argv[3] == "-6", next(word for word in argv[3:] if word in ("address", "route", "rule"))
            entries = [] if family6 else memory["live"][topic]
            return CommandResult(0, json.dumps(entries), "")
        elif argv[:2] == ["ip", "-j"]:
            return CommandResult(0, json.dumps([{"ifname": d["ifname"]} for d in memory["live"]["address"]]), "")
        elif argv[:2] == ["nmcli", "-t"]:
            return CommandResult(0, "eth0:installer\nwlan0:cafe\n", "")
        elif argv[0] not in ("ip", "netplan", "nmcli", "udevadm", "systemctl"):
            return CommandResult(RC_NOT_FOUND, "", f"{argv[0]}: not installed")
        return CommandResult(0, "", "")

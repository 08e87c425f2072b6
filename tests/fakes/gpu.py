# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A FAKE machine with GPUs: what nvidia-smi, nvidia-imex-ctl, dcgmi, journalctl and systemctl say on it, as text.

Formats are those of the recorded outputs in tests/unit/fixtures. Unit tests ask it through a Runner; the programs in
tests/fakes/bin ask it for the machine in the file $FAKE_GPU_MACHINE. All GPUs carry FAKE in their names.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

FIXTURES = Path(__file__).resolve().parents[1] / "unit/fixtures"
CLUSTER = "11111111-2222-3333-4444-555555555555"
NOT_ACTIVE = "Not Active"
UNITS = {
    "power.draw": "W",
    "enforced.power.limit": "W",
    "clocks.sm": "MHz",
    "clocks.max.sm": "MHz",
    "clocks_event_reasons_counters.sw_thermal_slowdown": "us",
    "clocks_event_reasons_counters.hw_thermal_slowdown": "us",
    "clocks_event_reasons_counters.hw_power_brake_slowdown": "us",
}
# Some columns have another name in the header than in the question.
HEADERS = {"clocks.sm": "clocks.current.sm"}
NVLINK_5 = (
    "Malformed packet Errors",
    "Buffer overrun Errors",
    "Rx Errors",
    "Rx remote Errors",
    "Rx General Errors",
    "Local link integrity Errors",
    "Tx discards",
    "Link recovery successful events",
    "Link recovery failed events",
    "Total link recovery events",
    "Effective Errors",
    "Symbol Errors",
)
BOOT = "2026-11-30T20:00:00+00:00 w1 kernel: Linux version 6.8.0-gcp (build@host) #1 SMP"


def gpu(index: int) -> dict[str, Any]:
    """One GPU of a healthy A4X machine by question."""
    bus = ("00000008:01:00.0", "00000009:01:00.0", "00000018:01:00.0", "00000019:01:00.0")[index]
    return {
        "index": index,
        "name": "NVIDIA GB200 (FAKE)",
        "uuid": f"GPU-00000000-0000-0000-0000-00000000000{index}",
        "pci.bus_id": bus,
        "driver_version": "580.126.20",
        "serial": f"165000000000{index}",
        "vbios_version": "97.00.B9.00.0F",
        "pstate": "P0",
        "persistence_mode": "Enabled",
        "mig.mode.current": "Disabled",
        "gpu_recovery_action": "None",
        "temperature.gpu": 34 + index,
        "power.draw": 165.27,
        "enforced.power.limit": 1200.0,
        "clocks.sm": 1965,
        "clocks.max.sm": 2062,
        "pcie.link.gen.current": 5,
        "pcie.link.gen.max": 5,
        "pcie.link.width.current": 16,
        "pcie.link.width.max": 16,
        "ecc.mode.current": "Enabled",
        "ecc.errors.corrected.volatile.total": 0,
        "ecc.errors.uncorrected.volatile.total": 0,
        "ecc.errors.corrected.aggregate.total": 2,
        "ecc.errors.uncorrected.aggregate.total": 0,
        "retired_pages.double_bit.count": "[N/A]",
        "retired_pages.pending": "[N/A]",
        "clocks_event_reasons.gpu_idle": "Active",
        **{
            f"clocks_event_reasons.{name}": NOT_ACTIVE
            for name in (
                "applications_clocks_setting",
                "sw_power_cap",
                "sync_boost",
                "hw_slowdown",
                "hw_thermal_slowdown",
                "hw_power_brake_slowdown",
                "sw_thermal_slowdown",
            )
        },
        "clocks_event_reasons_counters.sw_thermal_slowdown": 0,
        "clocks_event_reasons_counters.hw_thermal_slowdown": 0,
        "clocks_event_reasons_counters.hw_power_brake_slowdown": 0,
    }


def healthy() -> dict[str, Any]:
    """An A4X machine as data; tests change what they need. ``answers`` are by program and its arguments."""
    return {
        "gpus": [gpu(index) for index in range(4)],
        "remapped_rows": {str(index): [0, 0, "No", "No"] for index in range(4)},
        "fabric": [
            {"State": "Completed", "Status": "Success", "CliqueId": 32766, "ClusterUUID": CLUSTER}
            for _index in range(4)
        ],
        "links": {str(index): [53.125] * 18 for index in range(4)},
        "counters": {},  # "2/5/Rx Errors": 3
        "unknown_fields": [],
        "compute_apps": [],  # "4711, python"
        "behaviour": {},  # program: silent, error_text, refuses, lost, hangs, floods
        "answers": {
            "journalctl": "\n".join([BOOT, "2026-11-30T20:00:09+00:00 w1 kernel: nvidia: loading", ""]),
            "nvidia-imex-ctl": (FIXTURES / "nvidia-imex-ctl/04-json-up-two-nodes.json").read_text(),
            "dcgmi": (FIXTURES / "dcgmi/04-json3-banner-before-json.json").read_text(),
            "systemctl": "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\n",
        },
    }


def changed(**changes: Any) -> dict[str, Any]:
    """A healthy machine with some things replaced. ``gpu_2={...}`` changes fields of GPU 2 only."""
    machine = healthy()
    for key, value in changes.items():
        if key.startswith("gpu_"):
            machine["gpus"][int(key[4:])].update(value)
        elif isinstance(value, dict) and isinstance(machine[key], dict):
            machine[key] = {**machine[key], **value}
        else:
            machine[key] = value
    return deepcopy(machine)


def answer(machine: dict[str, Any], argv: Sequence[str]) -> tuple[int, str, str]:
    """(rc, stdout, stderr)."""
    program, arguments = Path(argv[0]).name, list(argv[1:])
    behaviour = machine["behaviour"].get(program)
    if behaviour == "hangs":
        time.sleep(600)
    if behaviour == "silent":
        return 0, "", ""
    if behaviour == "error_text":
        return 0, f"{program} has failed because it couldn't communicate with the NVIDIA driver.\n", ""
    if behaviour == "lost":
        return 15, "Unable to determine the device handle for GPU 0009:01:00.0: GPU is lost.  Reboot the system\n", ""
    rc, stdout = (0, machine["answers"][program]) if program != "nvidia-smi" else _nvidia_smi(machine, arguments)
    if behaviour == "refuses":
        return 1, stdout, "Insufficient Permissions\n"
    return rc, stdout, ""


def _nvidia_smi(machine: dict[str, Any], arguments: list[str]) -> tuple[int, str]:
    question = arguments[0]
    if question.startswith("--query-gpu="):
        return _query(machine, question.partition("=")[2].split(","))
    if question.startswith("--query-remapped-rows="):
        rows = [
            ", ".join([each["pci.bus_id"], *map(str, machine["remapped_rows"][str(each["index"])])])
            for each in machine["gpus"]
        ]
        return 0, "\n".join([question.partition("=")[2].replace(",", ", "), *rows, ""])
    if question.startswith("--query-compute-apps="):
        return 0, "".join(f"{each}\n" for each in machine["compute_apps"])
    texts = {
        ("-q",): _fabric,
        ("topo", "-m"): _topology,
        ("nvlink", "-s"): _links,
        ("nvlink", "-e"): _counters,
    }
    text = texts.get(tuple(arguments))
    return (1, f"Invalid option: {question}\n") if text is None else (0, text(machine))


def _query(machine: dict[str, Any], fields: list[str]) -> tuple[int, str]:
    bad = next((name for name in fields if name in machine["unknown_fields"]), None)
    if bad:
        return 2, f'Field "{bad}" is not a valid field to query.\n\n'
    header = [HEADERS.get(name, name) + (f" [{UNITS[name]}]" if name in UNITS else "") for name in fields]
    rows = [[_cell(each, name) for name in fields] for each in machine["gpus"]]
    return 0, "\n".join([", ".join(row) for row in (header, *rows)]) + "\n"


def _cell(each: dict[str, Any], name: str) -> str:
    value = each[name.replace("_throttle_", "_event_")]
    return f"{value} {UNITS[name]}" if name in UNITS and not isinstance(value, str) else str(value)


def _fabric(machine: dict[str, Any]) -> str:
    lines = ["", "==============NVSMI LOG==============", "", f"Attached GPUs : {len(machine['gpus'])}"]
    for each, fabric in zip(machine["gpus"], machine["fabric"], strict=True):
        lines += [
            f"GPU {each['pci.bus_id']}",
            f"    Product Name                          : {each['name']}",
            "    Fabric",
        ]
        lines += [f"        {key:<34}: {value}" for key, value in fabric.items()]
        lines += ["    Processes                             : None"]
    return "\n".join(lines) + "\n"


def _topology(machine: dict[str, Any]) -> str:
    count = len(machine["gpus"])
    names = [f"GPU{index}" for index in range(count)]
    lines = ["\t" + "\t".join([*names, "NIC0", "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])]
    for start in range(count):
        up = sum(speed is not None for speed in machine["links"][str(start)])
        cells = [" X " if start == end else (f"NV{up}" if up else "NODE") for end in range(count)]
        lines.append("\t".join([names[start], *cells, machine.get("nic_link", "NODE"), "0-69", "0", "2"]))
    lines += ["\t".join(["NIC0", *["NODE"] * count, " X "]), "", "NIC Legend:", "", "  NIC0: mlx5_0", ""]
    return "\n".join(lines)


def _heading(each: dict[str, Any]) -> str:
    return f"GPU {each['index']}: {each['name']} (UUID: {each['uuid']})"


def _links(machine: dict[str, Any]) -> str:
    lines = []
    for each in machine["gpus"]:
        speeds = machine["links"][str(each["index"])]
        lines.append(_heading(each))
        if not speeds:
            lines.append("NVML: Unable to retrieve NVLink information as all links are inActive")
        lines += [
            f"\t Link {link}: <inactive>" if speed is None else f"\t Link {link}: {speed} GB/s"
            for link, speed in enumerate(speeds)
        ]
    return "\n".join(lines) + "\n"


def _counters(machine: dict[str, Any]) -> str:
    lines = []
    for each in machine["gpus"]:
        lines.append(_heading(each))
        for link, speed in enumerate(machine["links"][str(each["index"])]):
            if speed is None:
                continue
            for name in NVLINK_5:
                value = machine["counters"].get(f"{each['index']}/{link}/{name}", 0)
                lines.append(f"\t Link {link}: {name}: {value}")
            lines += [f"\t Link {link}: FEC Errors - 0: 36140749276", f"\t Link {link}: Effective BER: 15e-255"]
    return "\n".join(lines) + "\n"


def save(machine: dict[str, Any], path: Path) -> Path:
    path.write_text(json.dumps(machine))
    return path

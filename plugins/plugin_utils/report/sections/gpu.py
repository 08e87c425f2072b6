# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""GPUs: those with a finding first, each with its figures; the others summed up; NVLink domains as measured."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ..model import FleetReport, natural, rows

__all__ = ["context"]

NONE = "—"


def context(report: FleetReport) -> dict[str, Any]:
    gpus = [{"host": host, **_gpu(row)} for host, data in report.reports("gpu").items() for row in rows(data, "gpus")]
    kinds = Counter((gpu["name"], gpu["driver"], gpu["pcie"], gpu["links"]) for gpu in gpus if gpu["state"] == "OK")
    return {
        "bad": [gpu for gpu in gpus if gpu["state"] != "OK"],
        "good": [
            {"name": name, "driver": driver, "pcie": pcie, "links": links, "count": count}
            for (name, driver, pcie, links), count in kinds.most_common()
        ],
        "domains": _domains(gpus),
    }


def _gpu(row: dict[str, Any]) -> dict[str, Any]:
    """A state that this report does not know is not taken for a good one."""
    state = str(row.get("state")).upper()
    reasons = row.get("clock_reasons")
    return {
        "index": row.get("index"),
        "state": state if state in ("OK", "WARN", "UNKNOWN", "FAIL") else "UNKNOWN",
        "name": _text(row, "name"),
        "driver": _text(row, "driver"),
        "pcie": f"gen {_text(row, 'pcie_gen')} x{_text(row, 'pcie_width')}",
        "links": _text(row, "nvlinks_up"),
        "ecc": _text(row, "ecc_uncorrected"),
        "clock": f"{_text(row, 'clock_mhz')} of {_text(row, 'clock_max_mhz')} MHz",
        "temperature": _text(row, "temperature_c"),
        "reasons": ", ".join(map(str, reasons)) if isinstance(reasons, list) and reasons else NONE,
        "domain": row.get("nvlink_domain"),
    }


def _text(row: dict[str, Any], key: str) -> str:
    return NONE if row.get(key) is None else str(row[key])


def _domains(gpus: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cluster UUID and clique -> the hosts in it. A host that is in two has a finding of its own."""
    hosts: dict[str, set[str]] = {}
    for gpu in gpus:
        if gpu["domain"]:
            hosts.setdefault(str(gpu["domain"]), set()).add(gpu["host"])
    return [{"name": name, "hosts": sorted(found, key=natural)} for name, found in sorted(hosts.items())]

# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is asked of ``nvidia-smi --query-gpu``, and which of it counts up. Names: ``nvidia-smi --help-query-gpu``."""

from __future__ import annotations

from typing import Dict, Tuple

__all__ = ["ALIASES", "CLOCK_COUNTERS", "CLOCK_REASONS", "ECC_COUNTERS", "FIELDS", "REMAPPED_ROWS", "REQUIRED"]

# Without these nothing can be said about a GPU.
REQUIRED = ("index", "name", "uuid", "pci.bus_id", "driver_version")

ECC_COUNTERS = (
    "ecc.errors.corrected.volatile.total",
    "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.corrected.aggregate.total",
    "ecc.errors.uncorrected.aggregate.total",
)
CLOCK_REASONS = (
    "clocks_event_reasons.gpu_idle",
    "clocks_event_reasons.applications_clocks_setting",
    "clocks_event_reasons.sw_power_cap",
    "clocks_event_reasons.sync_boost",
    "clocks_event_reasons.hw_slowdown",
    "clocks_event_reasons.hw_thermal_slowdown",
    "clocks_event_reasons.hw_power_brake_slowdown",
    "clocks_event_reasons.sw_thermal_slowdown",
)
# Microseconds since the driver was loaded; drivers before 560 do not have them.
CLOCK_COUNTERS = (
    "clocks_event_reasons_counters.sw_thermal_slowdown",
    "clocks_event_reasons_counters.hw_thermal_slowdown",
    "clocks_event_reasons_counters.hw_power_brake_slowdown",
)
FIELDS = (
    *REQUIRED,
    "serial",
    "vbios_version",
    "pstate",
    "persistence_mode",
    "mig.mode.current",
    "gpu_recovery_action",
    "temperature.gpu",
    "power.draw",
    "enforced.power.limit",
    "clocks.sm",
    "clocks.max.sm",
    "pcie.link.gen.current",
    "pcie.link.gen.max",
    "pcie.link.width.current",
    "pcie.link.width.max",
    "ecc.mode.current",
    *ECC_COUNTERS,
    "retired_pages.double_bit.count",
    "retired_pages.pending",
    *CLOCK_REASONS,
    *CLOCK_COUNTERS,
)
# A driver before 535 has the reasons under their old name.
ALIASES: Dict[str, str] = {name: name.replace("_event_", "_throttle_") for name in CLOCK_REASONS}

# Row remapping (A100 and later) has a query of its own.
REMAPPED_ROWS: Tuple[str, ...] = (
    "gpu_bus_id",
    "remapped_rows.correctable",
    "remapped_rows.uncorrectable",
    "remapped_rows.pending",
    "remapped_rows.failure",
)

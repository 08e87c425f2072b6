#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a machine's baseline and judge it."""

from __future__ import annotations

DOCUMENTATION = r"""
module: check_baseline
short_description: Measure a machine's baseline and judge it
version_added: 0.1.0
author: The gpufleet authors (@gpufleet)
description:
  - Host name, swap (now and after a boot), kernel modules, sysctls (running and by all files), limits of services,
    the clock, held packages.
  - Reads only and installs nothing. What cannot be measured is V(UNKNOWN), which is not a pass. Never fails for what
    it measures.
options:
  host:
    description: The inventory's name of the machine.
    type: str
    required: true
  run_id:
    description: Identifies the run in the report.
    type: str
    required: true
  hostname:
    description: The wanted host name. Without it names are not judged.
    type: str
  swap_off:
    description: Whether swap has to be off.
    type: bool
    default: true
  modules:
    description: Kernel modules that have to be loaded, and to be loaded at boot.
    type: list
    elements: str
    default: []
  sysctls:
    description: Wanted values by key.
    type: dict
    default: {}
  limits:
    description: Wanted default limits of services, as in M(gpufleet.cluster.host_limits).
    type: list
    elements: dict
    default: []
    suboptions:
      item:
        description: What is limited.
        type: str
        choices: [core, memlock, nofile, nproc, stack]
        required: true
      soft:
        description: A number or V(unlimited).
        type: str
        required: true
      hard:
        description: A number or V(unlimited).
        type: str
        required: true
  clock:
    description: Whether the clock has to be in sync (by chrony).
    type: bool
    default: true
  clock_local:
    description: Whether the machine may follow its own clock, as the time source of a site without internet does.
    type: bool
    default: false
  clock_offset_max_ms:
    description: The largest offset from the reference.
    type: float
    default: 100.0
  holds:
    description: Packages that have to be held.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Changes nothing, so it runs in check mode, too.
    support: full
  diff_mode:
    description: There is no difference to show.
    support: none
"""

EXAMPLES = r"""
- name: Check the baseline
  gpufleet.cluster.check_baseline:
    host: "{{ inventory_hostname }}"
    run_id: "{{ run_id }}"
    hostname: "{{ inventory_hostname }}"
    modules: [overlay, br_netfilter]
    sysctls: {net.ipv4.ip_forward: 1}
  register: check_baseline_result
"""

RETURN = r"""
check:
  description: The name of the check.
  returned: success
  type: str
  sample: baseline
run_id:
  description: As given.
  returned: success
  type: str
  sample: 20260101T120000-4f3d
report:
  description: C(items), each with C(item), C(measured), C(expected) and C(state) (ok, warn, unknown, fail).
  returned: success
  type: dict
  sample: {items: [{item: hostname, measured: w1, expected: w1, state: ok}]}
findings:
  description: What was judged; severity OK, WARN, UNKNOWN or FAIL.
  returned: success
  type: list
  elements: dict
  sample:
    - check: baseline
      severity: FAIL
      subject: {host: w1, item: swap}
      measured: [/dev/vda3]
      expected: []
      unit: ""
      message: "swap is on: /dev/vda3"
      remedy: run role gpufleet.cluster.node_baseline
verdict:
  description: The worst severity.
  returned: success
  type: str
  sample: FAIL
"""

from typing import Any, Dict

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ConfigError
from ..module_utils.finding import check_result
from ..module_utils.host.baseline_reading import read_baseline
from ..module_utils.host.files import Root
from ..module_utils.host.limits import LIMIT_ITEMS, parse_limits
from ..module_utils.host.sysctl import dotted, wanted_paths
from ..module_utils.judge.baseline import BaselineWanted, judge_baseline, report_items
from ..module_utils.runner import ModuleRunner


def _spec() -> Dict[str, Any]:
    limit = {
        "item": {"type": "str", "choices": sorted(LIMIT_ITEMS), "required": True},
        "soft": {"type": "str", "required": True},
        "hard": {"type": "str", "required": True},
    }
    return {
        "host": {"type": "str", "required": True},
        "run_id": {"type": "str", "required": True},
        "hostname": {"type": "str"},
        "swap_off": {"type": "bool", "default": True},
        "modules": {"type": "list", "elements": "str", "default": []},
        "sysctls": {"type": "dict", "default": {}},
        "limits": {"type": "list", "elements": "dict", "default": [], "options": limit},
        "clock": {"type": "bool", "default": True},
        "clock_local": {"type": "bool", "default": False},
        "clock_offset_max_ms": {"type": "float", "default": 100.0},
        "holds": {"type": "list", "elements": "str", "default": []},
    }


def main() -> None:
    module = AnsibleModule(argument_spec=_spec(), supports_check_mode=True)
    params = module.params
    try:
        paths = wanted_paths(params["sysctls"])
        limits = parse_limits(params["limits"])
    except ConfigError as exc:
        module.fail_json(msg=str(exc))
    wanted = BaselineWanted(
        hostname=params["hostname"],
        swap_off=params["swap_off"],
        modules=tuple(params["modules"]),
        sysctls={dotted(key): value for key, value in paths.items()},
        limits={key: value for limit in limits for key, value in limit.for_manager().items()},
        clock=params["clock"],
        clock_local=params["clock_local"],
        clock_offset_max_ms=params["clock_offset_max_ms"],
        holds=tuple(params["holds"]),
    )
    reading = read_baseline(Root(), ModuleRunner(module), wanted, paths, limits)
    findings = judge_baseline(params["host"], reading, wanted)
    module.exit_json(**check_result("baseline", params["run_id"], {"items": report_items(findings)}, findings))


if __name__ == "__main__":
    main()

#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: dcgm_diag
short_description: Run the diagnostic of NVIDIA DCGM and judge it
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Runs C(dcgmi diag -r LEVEL -j) within a time limit and judges the tests one by one. A test that was skipped is no
    pass, a report that is cut off is V(UNKNOWN), and so is an exit status that does not fit the report.
  - B(The diagnostic loads the GPUs and disturbs what runs on them). It refuses to start (V(UNKNOWN)) while a process
    computes on a GPU, unless O(allow_busy) is set.
  - What dcgmi printed is kept on the host, in O(log_directory).
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to. It is part of the log's name.
    type: str
    required: true
  level:
    description:
      - V(1) looks at software and settings (seconds), V(2) also at PCIe and memory (2 minutes), V(3) puts load on the
        GPUs (15 minutes or more), V(4) does so for longer (1 to 2 hours).
    type: int
    choices: [1, 2, 3, 4]
    default: 1
  time_limit:
    description:
      - Seconds until the run is ended, with all processes that it started. By default 120, 600, 3600 and 14400 by
        level.
      - A dcgmi that knows C(--timeout) is given the limit too, as only dcgmi can stop what it started in the host
        engine. An older one may leave C(nvvs) running; the finding says how to end it.
    type: float
  json:
    description: Whether to ask for JSON (C(-j)) rather than the table.
    type: bool
    default: true
  allow_busy:
    description: Whether to run while processes use the GPUs.
    type: bool
    default: false
  log_directory:
    description: Directory on the host for C(dcgm-diag-<run id>.log).
    type: path
    default: /var/log/gpufleet
attributes:
  check_mode:
    description: Runs nothing in check mode and says what it would run.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Run DCGM's diagnostic
  gpufleet.cluster.dcgm_diag:
    host: "{{ inventory_hostname }}"
    run_id: "{{ fleet_run.id }}"
    level: 3
  register: check_dcgm_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: dcgm
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL); null in check mode.
  returned: success
  type: str
  sample: OK
report:
  description: C(command), C(rc), C(version) of DCGM, C(tests) (name, state, failed_gpus, details) and the path of the
    C(log) (empty if it could not be written).
  returned: success
  type: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
  sample:
    - check: dcgm
      severity: FAIL
      subject: {host: w1, gpu: 0, item: memory}
      measured: fail
      expected: pass
      unit: ""
      message: "memory: fail: uncorrectable memory error"
      remedy: drain the node; run the test again alone; if it fails again report the host as faulty, with the log
msg:
  description: What would be run.
  returned: in check mode
  type: str
"""

import re

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ClusterError
from ..module_utils.finding import check_result
from ..module_utils.gpu.dcgm import LEVELS, DiagPlan, busy, run_diag
from ..module_utils.host.files import Root
from ..module_utils.judge.dcgm import dcgm_report, judge_busy, judge_dcgm
from ..module_utils.runner import ModuleRunner


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "level": {"type": "int", "choices": sorted(LEVELS), "default": 1},
            "time_limit": {"type": "float"},
            "json": {"type": "bool", "default": True},
            "allow_busy": {"type": "bool", "default": False},
            "log_directory": {"type": "path", "default": "/var/log/gpufleet"},
        },
        supports_check_mode=True,
    )
    params, runner = module.params, ModuleRunner(module)
    host, run_id = params["host"], params["run_id"]
    if not re.fullmatch(r"[\w.-]+", run_id):
        module.fail_json(
            msg="dcgm_diag: run_id %r cannot be part of a file's name: use letters, digits, . _ -" % run_id
        )
    plan = DiagPlan(params["level"], params["time_limit"] or LEVELS[params["level"]], params["json"])
    if module.check_mode:
        text = "would run for %d s at the most: %s" % (plan.time_limit, " ".join(plan.argv()))
        module.exit_json(msg=text, **check_result("dcgm", run_id, {"command": " ".join(plan.argv())}, []))
    if not params["allow_busy"]:
        users, reason = [], ""
        try:
            users = busy(runner)
        except ClusterError as exc:
            reason = str(exc)
        refused = judge_busy(host, users, reason)
        if refused:
            module.exit_json(**check_result("dcgm", run_id, {"command": " ".join(plan.argv())}, refused))
    run = run_diag(Root(), runner, plan, "%s/dcgm-diag-%s.log" % (params["log_directory"], run_id))
    module.exit_json(**check_result("dcgm", run_id, dcgm_report(run), judge_dcgm(host, run)))


if __name__ == "__main__":
    main()

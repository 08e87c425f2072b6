#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: check_nccl
short_description: Judge the collectives that were launched on a host
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Reads the records and logs that M(gpufleet.cluster.nccl_test) left on this host for the run O(run_id).
  - Bandwidth is compared with O(baseline) if that knows this kind of run, otherwise with the O(limits) of the same
    hardware, scope, collective, number of ranks and nodes, size and statistic. Where none fits the finding is UNKNOWN
    and names the nearest ones.
  - The way of the data between each pair of hosts is read from NCCL's own lines - C(P2P/MNNVL) inside a domain,
    C(NET/IB) between domains - and never inferred from a bandwidth.
  - Changes nothing, and does not fail the host for what it finds. A host that launched nothing has no findings.
options:
  host:
    description: Name of this host in the inventory.
    type: str
    required: true
  run_id:
    description: Identifier of the run that this result belongs to.
    type: str
    required: true
  names:
    description:
      - Names of the tests that this host was to launch. One that left no record is UNKNOWN, and others are left aside.
      - Without it, all that have left a record here.
    type: list
    elements: str
  limits:
    description: Rows of limits, as P(gpufleet.cluster.bandwidth_limits#lookup) gives them.
    type: list
    elements: dict
    default: []
  baseline:
    description: The fleet's own baseline, as C(playbooks/benchmark.yml) records it. Empty means that there is none.
    type: dict
    default: {}
  tolerance_percent:
    description: How far below the baseline is still fine.
    type: float
    default: 10
  log_directory:
    description: Directory of the logs of all runs, as in M(gpufleet.cluster.nccl_test).
    type: path
    default: /var/log/gpufleet/nccl
attributes:
  check_mode:
    description: Runs the same in check mode, as it only reads.
    support: full
  diff_mode:
    description: There is nothing to compare.
    support: none
"""

EXAMPLES = r"""
- name: Judge the collectives
  gpufleet.cluster.check_nccl:
    host: "{{ inventory_hostname }}"
    run_id: "{{ fleet_run.id }}"
    limits: "{{ lookup('gpufleet.cluster.bandwidth_limits') }}"
  register: check_nccl_result
"""

RETURN = r"""
check:
  description: Name of the check.
  returned: success
  type: str
  sample: nccl
run_id:
  description: The run's identifier, as given.
  returned: success
  type: str
verdict:
  description: The worst severity among the findings (OK, WARN, UNKNOWN, FAIL); null when there is nothing to judge.
  returned: success
  type: str
  sample: OK
report:
  description: What was measured.
  returned: success
  type: dict
  contains:
    runs:
      description:
        - One for each test, with C(name), C(scope), C(collective), C(sku), C(mnnvl), C(ranks), C(nodes), C(hosts),
          C(launched_by), C(stand_in), C(healthy), C(verdict), C(points) (C(size_bytes) and bus bandwidth in GB/s, the
          median over the attempts), C(average), C(limit), C(baseline), C(transport), and C(attempts) with the path of
          each raw log.
      type: list
      elements: dict
findings:
  description: Judgements with check, severity, subject, measured, expected, unit, message and remedy.
  returned: success
  type: list
  elements: dict
"""

import os

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.errors import ConfigError
from ..module_utils.finding import check_result
from ..module_utils.judge.bandwidth import load_limits
from ..module_utils.judge.nccl import Measure, judge_missing, judge_run
from ..module_utils.nccl.attempt import read_attempt
from ..module_utils.nccl.baseline import check_baseline_document
from ..module_utils.nccl.measure import read_records
from ..module_utils.nccl.trust import check_id


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "host": {"type": "str", "required": True},
            "run_id": {"type": "str", "required": True},
            "names": {"type": "list", "elements": "str"},
            "limits": {"type": "list", "elements": "dict", "default": []},
            "baseline": {"type": "dict", "default": {}},
            "tolerance_percent": {"type": "float", "default": 10},
            "log_directory": {"type": "path", "default": "/var/log/gpufleet/nccl"},
        },
        supports_check_mode=True,
    )
    params = module.params
    host = params["host"]
    try:
        baseline = check_baseline_document(params["baseline"])
        measure = Measure(load_limits(params["limits"]), baseline, params["tolerance_percent"])
        records = read_records(os.path.join(params["log_directory"], check_id(params["run_id"])))
    except ConfigError as exc:
        module.fail_json(msg="check_nccl: %s" % exc)
    names = [record["name"] for record in records] if params["names"] is None else params["names"]
    records = [record for record in records if record["name"] in names]
    judged = [judge_run(host, record, [read_attempt(one) for one in record["attempts"]], measure) for record in records]
    findings = [finding for _shown, found in judged for finding in found]
    findings += judge_missing(host, [record["name"] for record in records], names)
    report = {"runs": [shown for shown, _found in judged]}
    module.exit_json(**check_result("nccl", params["run_id"], report, findings))


if __name__ == "__main__":
    main()

#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_report
short_description: Report what the checks of a run found, over the whole fleet
version_added: 0.1.0
description:
  - Reads the registered results of all hosts of the fleet, also of hosts that could not be reached or failed earlier in
    the run, and writes a report on the controller. Then fails if the verdict does not pass.
  - The verdict is the worst finding. OK and WARN pass, UNKNOWN and FAIL do not. A host without a result of this run is
    UNKNOWN, and so is a result that cannot be read. A check that does not apply to a host has no finding.
  - Which checks are expected follows from C(--tags) and C(--skip-tags). If none is, nothing is written and the task is
    skipped. Use it with C(run_once).
  - Hosts of the fleet outside O(hosts) or C(--limit) are listed as not selected.
author: [The gpufleet authors (@gpufleet)]
attributes:
  check_mode:
    support: full
    description: Checks only read, so the report is written in check mode too, and says that it was made in check mode.
  diff_mode:
    support: none
    description: A report has no earlier state.
  action:
    support: full
    description: Runs on the controller, once for all hosts of the play.
options:
  run_id:
    description: Id of the run, from M(gpufleet.cluster.fleet_run). Results of another run are refused.
    type: str
    required: true
  started:
    description: When the run began.
    type: str
    required: true
  checks:
    description: Checks that may have run.
    type: list
    elements: dict
    required: true
    suboptions:
      name:
        description: Name of the check, as in its findings.
        type: str
        required: true
      tag:
        description: Tag that selects the check.
        type: str
        required: true
      variable:
        description: Variable in which the result of the check is registered.
        type: str
        required: true
      group:
        description:
          - Group of the hosts that the check is for. For other hosts it does not apply, whether its task was skipped or
            did not run. Without it the check is for all hosts.
        type: str
      on_request:
        description:
          - Whether the check's task has the tag V(never). Then no result is expected unless its own tag was asked for.
        type: bool
        default: false
  groups:
    description: Groups that make up the fleet. All their hosts are listed.
    type: list
    elements: str
    default: [control_plane, workers]
  hosts:
    description:
      - Hosts that were asked, so those that must answer unless C(--limit) leaves them out. Others are listed as not
        selected.
      - Without it, all hosts of O(groups).
    type: list
    elements: str
  compare:
    description:
      - C(findings.json) of an earlier run, or the directory that it is in. The report shows collectives beside those of
        that run. The verdict does not depend on it.
    type: str
    default: ""
  directory:
    description:
      - Directory on the controller. The report is written to C(<inventory>/<run id>) below it, and the link
        C(<inventory>/latest) is set to it.
    type: str
    default: reports
  enforce:
    description:
      - Whether a verdict that does not pass fails the task. The report says the same either way.
      - Off where the measured state is not the wanted one on purpose, as in check mode before a change.
    type: bool
    default: true
  formats:
    description:
      - Files to write. V(json) is C(findings.json), V(html) is C(report.html), V(junit) is C(junit.xml), V(prometheus)
        is C(metrics.prom) for the textfile collector of node-exporter.
    type: list
    elements: str
    choices: [json, html, junit, prometheus]
    default: [json, html, junit, prometheus]
"""

EXAMPLES = r"""
- name: Report what check_mtu found
  gpufleet.cluster.fleet_report:
    run_id: "{{ fleet_run.id }}"
    started: "{{ fleet_run.started }}"
    checks:
      - {name: mtu, tag: mtu_check, variable: check_mtu_result}
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
msg:
  description: The verdict, the counts and the path of the report.
  type: str
  returned: always
table:
  description: A line for each host, worst first; in a fleet of more than 20 hosts, a line for each kind of finding.
  type: list
  elements: str
  returned: when a check was selected
verdict:
  description: The worst finding.
  type: str
  returned: when a check was selected
  sample: FAIL
directory:
  description: Where the report is.
  type: str
  returned: when a check was selected
  sample: reports/lab/20261130T201500Z-3f2a
"""

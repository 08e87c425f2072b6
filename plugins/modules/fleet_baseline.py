#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_baseline
short_description: Record the fleet's own baseline of collectives
version_added: 0.1.0
author: [The gpufleet authors (@gpufleet)]
description:
  - Writes the medians that M(gpufleet.cluster.check_nccl) reported in this run, of all hosts, to
    C(baselines/<inventory>.json) beside the inventory, readable by its owner only. Later runs are compared with it.
  - Refuses if a run has no healthy figure; then the old baseline is kept.
  - Runs on the controller.
options:
  run_id:
    description: Identifier of this run.
    type: str
    required: true
attributes:
  check_mode:
    description: Says where it would be written.
    support: full
  diff_mode:
    description: Figures of one run are not compared with those of another here.
    support: none
"""

EXAMPLES = r"""
- name: Record the baseline
  gpufleet.cluster.fleet_baseline:
    run_id: "{{ fleet_run.id }}"
  run_once: true
  delegate_to: localhost
"""

RETURN = r"""
path:
  description: The file.
  returned: success
  type: str
runs:
  description: Names of the runs in it.
  returned: success
  type: list
  elements: str
"""

#!/usr/bin/python
# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: fleet_run
short_description: Begin a run and give it an id
version_added: 0.1.0
description:
  - Gives a run its id and its time. Use it with C(run_once), so that all hosts share them.
  - Checks carry the id in their result, so that a report takes results of its own run only.
author: [The gpufleet authors (@gpufleet)]
attributes:
  check_mode:
    support: full
    description: Changes nothing.
  diff_mode:
    support: none
    description: Changes nothing.
  action:
    support: full
    description: Runs on the controller.
"""

EXAMPLES = r"""
- name: Begin the run
  hosts: all,localhost
  gather_facts: false
  tags: [always]
  tasks:
    - name: Give the run an id
      gpufleet.cluster.fleet_run:
      register: fleet_run
      run_once: true
"""

RETURN = r"""
id:
  description: Id of the run. Ids sort by time.
  type: str
  returned: always
  sample: 20261130T201500Z-3f2a
started:
  description: When the run began, ISO 8601 in UTC.
  type: str
  returned: always
  sample: "2026-11-30T20:15:00Z"
"""

# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_baseline
short_description: The fleet's own baseline of collectives
version_added: 0.1.0
description:
  - Returns what C(playbooks/benchmark.yml -e fleet_baseline=record) has recorded in
    C(baselines/<inventory>.json) beside the inventory, or an empty mapping.
author: [The gpufleet authors (@gpufleet)]
options: {}
"""

EXAMPLES = r"""
- name: Show when the baseline was recorded
  ansible.builtin.debug:
    msg: "{{ lookup('gpufleet.cluster.fleet_baseline').recorded | default('never') }}"
"""

RETURN = r"""
_raw:
  description: The baseline, with C(schema_version), C(run_id), C(recorded) and C(runs) by name.
  type: list
  elements: dict
"""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils.errors import ConfigError
from ..plugin_utils.limits import baseline_file, read_baseline


class LookupModule(LookupBase):
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        self.set_options(var_options=variables, direct=kwargs)
        if terms:
            raise AnsibleLookupError("fleet_baseline takes no terms: the file is found by the inventory's name")
        sources = (variables or {}).get("ansible_inventory_sources") or ()
        try:
            return [read_baseline(baseline_file(sources))]
        except ConfigError as exc:
            raise AnsibleLookupError(str(exc)) from exc

# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: bandwidth_limits
short_description: Limits for bandwidths and latencies
version_added: 0.1.0
description:
  - Returns the rows of C(limits/bandwidth.json) beside the inventory, or of the one in the collection.
  - A fleet's own file takes the place of the shipped one as a whole; the two are not merged.
author: [The gpufleet authors (@gpufleet)]
options:
  _terms:
    description: Only rows for these collectives. Without any, all rows.
    type: list
    elements: str
"""

EXAMPLES = r"""
- name: Show the limits for collectives
  ansible.builtin.debug:
    msg: "{{ lookup('gpufleet.cluster.bandwidth_limits', 'all_reduce', 'all_gather') }}"
"""

RETURN = r"""
_raw:
  description: One list of rows; docs/parsers.md describes their keys.
  type: list
  elements: list
"""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils.errors import ConfigError
from ..plugin_utils.limits import limits_files, read_limits


class LookupModule(LookupBase):
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[Any]:
        self.set_options(var_options=variables, direct=kwargs)
        sources = (variables or {}).get("ansible_inventory_sources") or ()
        try:
            rows = read_limits(limits_files(sources))
        except ConfigError as exc:
            raise AnsibleLookupError(str(exc)) from exc
        return [[row for row in rows if not terms or row["collective"] in terms]]

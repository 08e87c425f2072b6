# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_stack
short_description: The fleet's stack recipe with its overrides
version_added: 0.1.0
description:
  - Returns the recipe that O(_terms) or the variable C(fleet_stack) names, merged with C(fleet_stack_overrides).
  - A recipe is a YAML file with one set of versions that fit. It is looked for in C(recipes/) beside the inventory,
    then in C(recipes/) of the collection.
  - In C(constraints) of the result, what C(constraints_by_group) says for the groups of the current host has replaced
    what holds for all hosts.
  - An unknown recipe, an override of something that the recipe does not have, or a value of the wrong type is an error.
author: [The gpufleet authors (@gpufleet)]
options:
  _terms:
    description: Name of the recipe, without C(.yml). Without it, the variable C(fleet_stack) is taken.
    type: str
  overrides:
    description: Values that replace those of the recipe. Without it, the variable C(fleet_stack_overrides) is taken.
    type: dict
"""

EXAMPLES = r"""
- name: Show the version of Kubernetes
  ansible.builtin.debug:
    msg: "{{ lookup('gpufleet.cluster.fleet_stack').kubernetes.version }}"

- name: Show another recipe with one version changed
  ansible.builtin.debug:
    msg: "{{ lookup('gpufleet.cluster.fleet_stack', 'maas-1.34', overrides={'containerd': {'version': '2.1.5'}}) }}"
"""

RETURN = r"""
_raw:
  description:
    - The recipe. Each component is a mapping of C(version) and C(source); the source of an overridden version is
      V(fleet_stack_overrides). A component that the recipe does not have is absent.
  type: list
  elements: dict
"""

from typing import Any

from ansible.errors import AnsibleLookupError
from ansible.plugins.lookup import LookupBase

from ..module_utils.errors import ConfigError
from ..plugin_utils.fleet import plain
from ..plugin_utils.recipe import host_stack, load_recipe, merge_overrides, recipe_folders


class LookupModule(LookupBase):
    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[dict[str, Any]]:
        self.set_options(var_options=variables, direct=kwargs)
        known = variables or {}
        name = terms[0] if terms else self._variable(known, "fleet_stack")
        if not name:
            raise AnsibleLookupError(
                "fleet_stack is not set: name a recipe in the inventory, as fleet_stack: maas-1.34"
            )
        overrides = self.get_option("overrides")
        if overrides is None:
            overrides = self._variable(known, "fleet_stack_overrides")
        try:
            recipe = load_recipe(name, recipe_folders(known.get("ansible_inventory_sources") or ()))
            stack = merge_overrides(recipe, plain(overrides or {}))
        except ConfigError as exc:
            raise AnsibleLookupError(f"fleet_stack = {name!r}: {exc}") from exc
        return [host_stack(stack, known.get("group_names") or ())]

    def _variable(self, variables: dict[str, Any], name: str) -> Any:
        return self._templar.template(variables[name]) if name in variables else None

# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
name: gce_nvl72
short_description: Google Compute Engine instances by NVL72 domain
version_added: 0.1.0
author:
  - The gpufleet authors (@gpufleet)
description:
  - Lists the instances of projects and zones, and groups them by NVLink domain (sub-block), block, cluster,
    reservation, status, machine type, zone, project and labels.
  - The file's name must end in C(gce_nvl72.yml) or C(gce_nvl72.yaml).
  - Variables begin with C(gce_), are never templates, and always all there. C(ansible_host) is set from the address of
    the first interface that is no RDMA rail.
  - Groups are C(nvl_<domain>), C(gce_block_<block>), C(gce_cluster_<cluster>), C(gce_reservation_<name>),
    C(gce_status_<status>), C(gce_machine_<type>), C(gce_zone_<zone>), C(gce_project_<project>),
    C(gce_label_<key>_<value>), and C(gce_no_address), C(gce_no_topology) (rails, but no domain known) and
    C(gce_maintenance) (maintenance is announced). Characters that a group's name cannot have become C(_); different
    values that become one name are warned about, and two domains are then told apart by a suffix.
  - Group C(all) has C(gce_inventory_missing), the list of projects and zones that could not be read.
  - Metadata is not asked for unless O(metadata_keys) names keys, so its secrets never get here.
extends_documentation_fragment:
  - ansible.builtin.constructed
  - gpufleet.cluster.gce
requirements:
  - requests
  - google-auth, for O(auth_kind=application), O(auth_kind=serviceaccount) and O(impersonate_service_account)
options:
  plugin:
    description: Marks the file as one for this plugin.
    type: str
    required: true
    choices: [gpufleet.cluster.gce_nvl72, gce_nvl72]
  enabled:
    description:
      - Whether to ask at all. May be a template, so that a folder that also has a static plan takes live data only
        where the credentials are. A source that is not asked adds nothing, and says so with C(-v).
    type: raw
    default: true
  projects:
    description: Projects to read. May be templates.
    type: list
    elements: str
    required: true
  zones:
    description:
      - Zones to read, each by a request of its own, in parallel. Costs less of the API's quota than whole projects.
      - Empty reads all zones of each project. May be templates.
    type: list
    elements: str
    default: []
  filter:
    description: A filter expression for the API, such as C(labels.fleet = demo). Without O(zones) it costs quota.
    type: str
    default: ''
  statuses:
    description: Statuses to keep, such as V(RUNNING). Empty keeps all; a status is also a group.
    type: list
    elements: str
    default: []
  hostnames:
    description:
      - Where the inventory name comes from; the first that a machine has is taken.
      - V(name), V(hostname) (the custom host name), V(internal_ip), V(external_ip) or C(labels.KEY).
    type: list
    elements: str
    default: [name]
  duplicates:
    description:
      - What to do with machines that would get the same inventory name.
      - V(qualify) names all of them C(NAME.ZONE.PROJECT), whatever order they come in, and warns; V(error) stops.
    type: str
    choices: [qualify, error]
    default: qualify
  connect_to:
    description: Address that C(ansible_host) is set from; V(none) leaves it to O(compose).
    type: str
    choices: [internal, external, none]
    default: internal
  use_ipv6:
    description: Use the IPv6 address of a machine that has no IPv4 one. If V(false) it is in group C(gce_no_address).
    type: bool
    default: false
  metadata_keys:
    description: Keys of instance metadata to have in C(gce_metadata). Name no secret ones; they would also be cached.
    type: list
    elements: str
    default: []
  sub_block_health:
    description: Read the health of the sub-blocks that the machines sit in (one request for each reservation block).
    type: bool
    default: true
  on_partial:
    description:
      - What to do when some zones or projects cannot be read. V(warn) goes on with a warning and
        C(gce_inventory_missing), and leaves a complete cache as it is; V(error) stops.
    type: str
    choices: [warn, error]
    default: warn
  skip_forbidden:
    description: Treat a project that refuses access as one that cannot be read, instead of stopping.
    type: bool
    default: false
  allow_empty:
    description: Take "no machines at all" as a good answer.
    type: bool
    default: false
  fatal:
    description: End the run when this source fails. Ansible by itself goes on without its hosts, with exit code 0.
    type: bool
    default: true
  workers:
    description: Requests at the same time.
    type: int
    default: 8
  auth_kind:
    env:
      - name: GCP_AUTH_KIND
  service_account_file:
    env:
      - name: GCP_SERVICE_ACCOUNT_FILE
  access_token:
    secret: true
    env:
      - name: GCP_ACCESS_TOKEN
  api_endpoint:
    env:
      - name: GPUFLEET_GCE_ENDPOINT
  cache:
    description:
      - Keep complete answers in a file (mode 0600) and use them while they are fresh; C(--flush-cache) renews it.
    type: bool
    default: false
    env:
      - name: ANSIBLE_INVENTORY_CACHE
    ini:
      - section: inventory
        key: cache
  cache_timeout:
    description: Seconds that a kept answer is fresh; V(0) for ever.
    type: int
    default: 3600
    env:
      - name: ANSIBLE_INVENTORY_CACHE_TIMEOUT
    ini:
      - section: inventory
        key: cache_timeout
  cache_folder:
    description: Folder of the cache files.
    type: path
    default: ~/.cache/gpufleet/inventory
    env:
      - name: GPUFLEET_INVENTORY_CACHE
"""

EXAMPLES = r"""
# a4x.gce_nvl72.yml
plugin: gpufleet.cluster.gce_nvl72
projects: [my-project]
zones: [us-east1-d]
cache: true
groups:
  # the contract of the playbooks: control_plane and workers
  control_plane: gce_labels.role | default('') == 'control-plane'
  workers: gce_labels.role | default('') == 'worker' and gce_status == 'RUNNING'
  gpu_nodes: gce_rails | length > 0
compose:
  ansible_user: "'ops'"
"""

import contextlib
import gc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleParserError
from ansible.module_utils.parsing.convert_bool import boolean
from ansible.plugins.inventory import BaseInventoryPlugin, Constructable

from ..module_utils.errors import ClusterError
from ..module_utils.gce.auth import Auth, check_endpoint
from ..module_utils.gce.client import Compute, Policy
from ..plugin_utils.gce.cache import FileCache
from ..plugin_utils.gce.fetch import Answer, Question, ask
from ..plugin_utils.gce.groups import GroupNames
from ..plugin_utils.gce.machine import Machine, Naming, read_machines

SUFFIXES = ("gce_nvl72.yml", "gce_nvl72.yaml")


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """Python's cycle collector walks a growing heap again and again while millions of small objects are made, none of
    which is garbage: a third of the time of a large inventory."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class InventoryModule(BaseInventoryPlugin, Constructable):
    NAME = "gpufleet.cluster.gce_nvl72"

    def verify_file(self, path: str) -> bool:
        return bool(super().verify_file(path)) and path.endswith(SUFFIXES)

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        super().parse(inventory, loader, path, cache)
        # Ansible turns a failing source into a warning and an empty inventory. Until this one has succeeded it may not.
        unparsed_is_failed = constants.INVENTORY_ANY_UNPARSED_IS_FAILED
        constants.INVENTORY_ANY_UNPARSED_IS_FAILED = True
        self._read_options(path)
        if not self.get_option("fatal"):
            constants.INVENTORY_ANY_UNPARSED_IS_FAILED = unparsed_is_failed
        if boolean(self._template(self.get_option("enabled"))):
            with _collector_paused():
                self._fill(path, use_cache=cache)
        else:
            self.display.v(f"{path}: not asked, because its option 'enabled' is false")
        constants.INVENTORY_ANY_UNPARSED_IS_FAILED = unparsed_is_failed

    def _fill(self, path: str, *, use_cache: bool) -> None:
        try:
            answer = self._answer(use_cache=use_cache)
            machines = read_machines(answer, self._naming(), tuple(self.get_option("statuses")))
        except ClusterError as exc:
            raise AnsibleParserError(f"{path}: {exc}") from exc
        if not machines and not self.get_option("allow_empty"):
            raise AnsibleParserError(
                f"{path}: no machine in {', '.join(self._templated('projects'))} that the options keep "
                f"({len(answer.instances)} before 'statuses'). If that is right, set allow_empty: true."
            )
        self._warn(answer)
        self._add(machines)
        self.inventory.set_variable("all", "gce_inventory_missing", answer.missing)

    def _read_options(self, path: str) -> None:
        """``_read_config_data`` without its cache plugins: an option "cache" of one's own is taken for theirs."""
        options = self.loader.load_from_file(path, cache="none", trusted_as_template=True)
        if not isinstance(options, dict):
            raise AnsibleParserError(f"{path} is no mapping of options: see ansible-doc -t inventory {self.NAME}")
        self.set_options(direct=options, var_options=self._vars)

    def _answer(self, *, use_cache: bool) -> Answer:
        """The only place that knows the cache. With --flush-cache Ansible says ``use_cache`` False: ask and write."""
        auth = Auth(
            self.get_option("auth_kind"),
            self.get_option("service_account_file"),
            self._template(self.get_option("access_token")),
            self.get_option("impersonate_service_account"),
        )
        question = self._question(auth)
        if not self.get_option("cache"):
            return self._ask(question, auth)
        cache = FileCache(Path(self.get_option("cache_folder")), self.get_option("cache_timeout"))
        answer = cache.load(question) if use_cache else None
        if answer is None:
            answer = self._ask(question, auth)
            cache.store(question, answer)
        answer.notes += cache.notes
        return answer

    def _question(self, auth: Auth) -> Question:
        return Question(
            endpoint=check_endpoint(self._template(self.get_option("api_endpoint")), auth),
            projects=tuple(sorted(set(self._templated("projects")))),
            zones=tuple(sorted(set(self._templated("zones")))),
            filter=self.get_option("filter"),
            metadata_keys=tuple(sorted(self.get_option("metadata_keys"))),
            sub_block_health=self.get_option("sub_block_health"),
            identity="/".join(filter(None, (auth.kind, auth.service_account_file, auth.impersonate))),
        )

    def _ask(self, question: Question, auth: Auth) -> Answer:
        from ..module_utils.gce.http import open_session  # noqa: PLC0415 - a cache hit must not pay for it

        workers = self.get_option("workers")
        policy = Policy(timeout=self.get_option("request_timeout"), deadline=self.get_option("request_deadline"))
        return ask(
            question,
            Compute(open_session(auth, workers), question.endpoint, policy),
            workers=workers,
            skip_forbidden=self.get_option("skip_forbidden"),
            partial_is_error=self.get_option("on_partial") == "error",
        )

    def _naming(self) -> Naming:
        return Naming(
            hostnames=tuple(self.get_option("hostnames")),
            duplicates=self.get_option("duplicates"),
            connect_to=self.get_option("connect_to"),
            use_ipv6=self.get_option("use_ipv6"),
        )

    def _add(self, machines: list[Machine]) -> None:
        """The only place that touches the inventory."""
        names = GroupNames(pair for machine in machines for pair in machine.memberships)
        for collision in names.collisions:
            self.display.warning(collision)
        groups = {pair: self._group(name) for pair, name in sorted(names.names.items())}
        constructed = {option: self.get_option(option) for option in ("compose", "groups", "keyed_groups")}
        add_host, hosts = self.inventory.add_host, self.inventory.hosts
        for machine in machines:
            # The first group is the project's. Further ones are told directly: add_child looks everything up again.
            name = add_host(machine.inventory_name, names.names[machine.memberships[0]])
            # Straight to the host: InventoryData.set_variable tags every string of every value with its origin, which
            # takes most of the time and memory of a large inventory. Untagged strings are not trusted either.
            hosts[name].vars.update(machine.variables)
            for pair in machine.memberships[1:]:
                groups[pair].add_host(hosts[name])
            if any(constructed.values()):
                self._construct(machine, constructed)

    def _group(self, name: str) -> Any:
        return self.inventory.groups[self.inventory.add_group(name)]

    def _construct(self, machine: Machine, constructed: dict[str, Any]) -> None:
        strict, name, variables = self.get_option("strict"), machine.inventory_name, machine.variables
        if constructed["compose"]:
            self._set_composite_vars(constructed["compose"], variables, name, strict=strict)
        if constructed["groups"]:
            self._add_host_to_composed_groups(constructed["groups"], variables, name, strict=strict)
        if constructed["keyed_groups"]:
            self._add_host_to_keyed_groups(constructed["keyed_groups"], variables, name, strict=strict)

    def _warn(self, answer: Answer) -> None:
        for missing in answer.missing:
            self.display.warning(f"the inventory is incomplete: {missing}")
        for note, times in Counter(answer.notes).items():
            self.display.warning(note if times == 1 else f"{note} ({times} times)")

    def _templated(self, option: str) -> list[str]:
        return [str(self._template(value)) for value in self.get_option(option)]

    def _template(self, value: Any) -> Any:
        """Options of the file are trusted and may be templates (for example of an environment variable)."""
        self.templar.available_variables = self._vars
        return self.templar.template(value)

"""Run the inventory plugin in this process and look at all it did."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from ansible.inventory.data import InventoryData
from ansible.parsing.dataloader import DataLoader
from ansible.plugins.loader import init_plugin_loader, inventory_loader

from .server import FakeCompute

_COLLECTIONS = str(Path(__file__).parents[3] / ".ansible" / "collections")
_loaded: list[bool] = []


@dataclass
class Read:
    """What a run of the plugin left: host variables and groups of the inventory, and its warnings."""

    hosts: dict[str, dict[str, Any]]
    groups: dict[str, list[str]]
    all_variables: dict[str, Any]
    warnings: list[str]


@dataclass
class _Display:
    warnings: list[str] = field(default_factory=list)

    def warning(self, message: str) -> None:
        self.warnings.append(message)

    def __getattr__(self, name: str) -> Any:
        return lambda *_args, **_kwargs: None


def config(fake: FakeCompute, **options: Any) -> dict[str, Any]:
    return {
        "plugin": "gpufleet.cluster.gce_nvl72",
        "projects": ["demo-project"],
        "zones": ["us-east1-d"],
        "auth_kind": "anonymous",
        "api_endpoint": fake.url,
        "request_deadline": 3,
        "request_timeout": 2,
        **options,
    }


def read_inventory(folder: Path, options: dict[str, Any], *, flush: bool = False) -> Read:
    """Parse one configuration. ``flush`` is what --flush-cache makes of it. Raises what the plugin raises."""
    _load_collections()
    path = folder / "fleet.gce_nvl72.yml"
    path.write_text(yaml.safe_dump(options))
    plugin = inventory_loader.get("gpufleet.cluster.gce_nvl72")
    plugin.display = _Display()
    data = InventoryData()
    data.current_source = str(path)
    plugin.parse(data, DataLoader(), str(path), cache=not flush)
    data.reconcile_inventory()
    hosts = {name: _own(host.vars) for name, host in sorted(data.hosts.items())}
    groups = {name: sorted(h.name for h in group.get_hosts()) for name, group in sorted(data.groups.items())}
    return Read(hosts, groups, dict(data.groups["all"].vars), plugin.display.warnings)


def _load_collections() -> None:
    """Ansible's importer, once. pytest has imported our package by then, so its metadata is put in by hand."""
    if not _loaded:
        init_plugin_loader([_COLLECTIONS])
        package = importlib.import_module("ansible_collections.gpufleet.cluster")
        if not hasattr(package, "_collection_meta"):
            package._collection_meta = {}
        _loaded.append(True)


def _own(variables: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in variables.items() if name not in ("inventory_file", "inventory_dir")}

"""Inventories and hosts that several tests of the network code share."""

from __future__ import annotations

from typing import Any

from ansible_collections.gpufleet.cluster.plugins.module_utils.network.hardware import Device
from ansible_collections.gpufleet.cluster.plugins.module_utils.network.model import Network, parse_networks

MANAGEMENT = {
    "name": "management", "kind": "ethernet", "interface": "mgmt", "members": [{"mac": "52:54:00:00:01:00"}],
    "address": "10.0.1.11/24", "mtu": 1500, "gateway": "10.0.1.1", "nameservers": ["10.0.1.2"],
}  # fmt: skip
STORAGE = {
    "name": "storage", "kind": "bond", "interface": "bond0",
    "members": [{"pci": "0000:01:00.0", "name": "enp1s0"}, {"name": "enp2s0"}],
    "bond": {"mode": "802.3ad", "lacp_rate": "fast", "min_links": 1, "hash_policy": "layer3+4", "miimon": 100},
    "address": "10.0.2.11/24", "mtu": 9000, "gateway": "10.0.2.1", "table": 200,
    "routes": [{"to": "10.9.0.0/16", "via": "10.0.2.1"}], "rules": [{"from": "10.0.2.0/24", "priority": 200}],
}  # fmt: skip
INFERENCE = {
    "name": "inference", "kind": "vlan", "interface": "bond0.30", "parent": "storage", "vlan_id": 30,
    "address": "10.0.3.11/24", "mtu": 1500,
}  # fmt: skip
EXAMPLE: list[dict[str, Any]] = [MANAGEMENT, STORAGE, INFERENCE]
HOST = (
    Device("eth0", "52:54:00:00:01:00", "0000:00:03.0", ("enp0s3",), driver="virtio_net"),
    Device("enp1s0", "52:54:00:00:01:01", "0000:01:00.0", driver="mlx5_core"),
    Device("enp2s0", "52:54:00:00:01:02", "0000:02:00.0", driver="mlx5_core"),
    Device("ibp3s0", "00:00:10:29:fe:80:00:00:00:00:00:00:b8:ce:f6:03:00:12:34:56", "0000:03:00.0", type="infiniband"),
    Device("cali0a1b2c", "ee:ee:ee:ee:ee:ee", physical=False, mac_permanent=False),
)


def rails(subnet: str, tables: bool, count: int = 4) -> list[dict[str, Any]]:
    """``subnet`` holds one %d for the rail's number."""
    return [
        {
            "name": f"rail{n}", "interface": f"rail{n}", "members": [{"pci": f"0000:{n + 1:02x}:00.0"}],
            "address": subnet % n, "mtu": 8896, "rail": n, **({"table": 210 + n} if tables else {}),
        }
        for n in range(count)
    ]  # fmt: skip


def rail_host(names: list[str]) -> tuple[Device, ...]:
    """The port in slot n has the name names[n]."""
    return tuple(
        Device(name, f"52:54:00:00:02:0{n}", f"0000:{n + 1:02x}:00.0", driver="mlx5_core")
        for n, name in enumerate(names)
    )


def networks(raw: list[dict[str, Any]]) -> tuple[Network, ...]:
    parsed, problems = parse_networks("w1", raw)
    assert problems == []
    return parsed

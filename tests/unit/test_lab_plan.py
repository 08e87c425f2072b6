"""The lab's plan: all of it follows from node numbers."""

from __future__ import annotations

import pytest

from tools.lab.errors import LabError
from tools.lab.plan import PORTS, Node, find_node, make_plan


def test_default_shape():
    assert make_plan(1) == (Node("cp-1", 11, "control_plane"), Node("worker-1", 21, "workers"))


def test_a_node_is_its_number():
    node = Node("worker-2", 22, "workers")
    assert {
        "address": node.address,
        "ssh": node.ssh_port,
        "mac": node.mac(3),
        "other end": node.switch_mac(3),
        "pci": node.pci_address(3),
        "interface": node.interface(3),
    } == {
        "address": "10.77.0.22",
        "ssh": 2222,
        "mac": "52:54:00:4c:16:03",
        "other end": "52:54:00:4d:16:03",
        "pci": "0000:00:13.0",
        "interface": "enp0s19",
    }


@pytest.mark.parametrize("workers", [pytest.param(0, id="none"), pytest.param(21, id="more than there are PCI slots")])
def test_refused_sizes(workers):
    with pytest.raises(LabError, match=f"--workers {workers}: allowed are 1 to 20"):
        make_plan(workers)


def test_nothing_is_used_twice_in_the_largest_lab():
    nodes = make_plan(20)
    tcp = [node.ssh_port for node in nodes]
    udp = [end(port) for node in nodes for end in (node.udp_port, node.switch_udp_port) for port in PORTS]
    macs = [mac(port) for node in nodes for mac in (node.mac, node.switch_mac) for port in PORTS]
    for values in (tcp, udp, macs, [node.name for node in nodes], [node.address for node in nodes]):
        assert len(values) == len(set(values))
    # Below the range from which Linux takes the ports of outgoing connections.
    assert max(udp) < 32768


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(LabError, match="no machine 'worker-9' in the lab: there are cp-1, worker-1"):
        find_node(make_plan(1), "worker-9")

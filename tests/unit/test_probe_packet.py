"""ICMP packets: sizes, checksums, and what belongs to this run."""

from __future__ import annotations

import ipaddress
import struct

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.probe.packet import (
    OVERHEAD,
    Answer,
    Refusal,
    checksum,
    echo_request,
    read_packet,
)

IDENT, TOKEN, NUMBER = 0x1234, b"runtoken", 70000
ROUTER = "192.0.2.1"


def ip4(icmp: bytes, source: str = "192.0.2.9", destination: str = "192.0.2.2") -> bytes:
    addresses = ipaddress.ip_address(source).packed + ipaddress.ip_address(destination).packed
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(icmp), 0, 0, 64, 1, 0) + addresses + icmp


def ip6(icmp: bytes, destination: str = "2001:db8::2") -> bytes:
    addresses = ipaddress.ip_address("2001:db8::9").packed + ipaddress.ip_address(destination).packed
    return struct.pack("!IHBB", 6 << 28, len(icmp), 58, 64) + addresses + icmp


def reply(version: int, size: int = 9000, ident: int = IDENT, token: bytes = TOKEN) -> bytes:
    request = echo_request(version, ident, token, NUMBER, size)
    icmp = bytes([{4: 0, 6: 129}[version]]) + request[1:]
    return ip4(icmp) if version == 4 else icmp


def error(version: int, kind: int, code: int, rest: int, ident: int = IDENT, quoted: int = 8) -> bytes:
    request = echo_request(version, ident, TOKEN, NUMBER, 9000)[:quoted]
    head = struct.pack("!BBHI", kind, code, 0, rest)
    return ip4(head + ip4(request)) if version == 4 else head + ip6(request)


@pytest.mark.parametrize(("mtu", "version", "payload"), [(8896, 4, 8868), (8896, 6, 8848), (9000, 4, 8972)])
def test_payload_is_the_mtu_less_the_headers(mtu: int, version: int, payload: int) -> None:
    icmp = echo_request(version, IDENT, TOKEN, NUMBER, mtu)
    assert (len(icmp) - 8, mtu - OVERHEAD[version]) == (payload, payload)


@pytest.mark.parametrize("size", [84, 1501, 9000, 65520])
def test_checksum_of_the_whole_packet_is_right(size: int) -> None:
    icmp = echo_request(4, IDENT, TOKEN, NUMBER, size)
    assert checksum(icmp + bytes(len(icmp) % 2)) == 0


@pytest.mark.parametrize(
    ("version", "packet", "want"),
    [
        pytest.param(4, reply(4), Answer(NUMBER, 9000), id="reply"),
        pytest.param(6, reply(6), Answer(NUMBER, 9000), id="reply-v6"),
        pytest.param(4, reply(4, ident=7), None, id="another-process"),
        pytest.param(4, reply(4, token=b"otherrun"), None, id="same-ident-another-run"),
        pytest.param(4, ip4(echo_request(4, IDENT, TOKEN, NUMBER, 100)), None, id="own-request"),
        pytest.param(
            4, error(4, 3, 4, 1500), Refusal(NUMBER & 0xFFFF, "192.0.2.2", ROUTER, mtu=1500), id="fragmentation-needed"
        ),
        pytest.param(
            6, error(6, 2, 0, 1500), Refusal(NUMBER & 0xFFFF, "2001:db8::2", ROUTER, mtu=1500), id="packet-too-big-v6"
        ),
        pytest.param(
            4,
            error(4, 3, 0, 0),
            Refusal(NUMBER & 0xFFFF, "192.0.2.2", ROUTER, reason="net unreachable"),
            id="net-unreachable",
        ),
        pytest.param(
            6, error(6, 1, 0, 0), Refusal(NUMBER & 0xFFFF, "2001:db8::2", ROUTER, reason="no route"), id="no-route-v6"
        ),
        pytest.param(
            4,
            error(4, 3, 77, 0),
            Refusal(NUMBER & 0xFFFF, "192.0.2.2", ROUTER, reason="unreachable, code 77"),
            id="unknown-code",
        ),
        pytest.param(4, error(4, 3, 0, 0, ident=7), None, id="error-of-another-process"),
        pytest.param(4, error(4, 3, 0, 0, quoted=4), None, id="error-quotes-too-little"),
        pytest.param(4, reply(4)[:24], None, id="truncated"),
        pytest.param(4, b"", None, id="empty"),
        pytest.param(6, b"\x81", None, id="one-byte-v6"),
    ],
)
def test_reads_what_belongs_to_the_run(version: int, packet: bytes, want: object) -> None:
    assert read_packet(version, IDENT, TOKEN, memoryview(packet), ROUTER) == want

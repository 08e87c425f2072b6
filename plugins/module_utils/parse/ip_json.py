# -*- coding: utf-8 -*-
# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""``ip -j link``, ``ip -j addr``: interfaces, their carrier and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterable, Optional, Tuple

from ..errors import ParseError
from .document import integer, mapping, read_document, sequence, words

__all__ = ["IpReport", "Link", "parse_ip_json", "reading"]

TOOL = "ip-json"


@dataclass(frozen=True)
class Link:
    """``address`` is 6 bytes long on Ethernet, 20 on InfiniBand; ``addresses`` are "10.0.0.1/24" in printed order."""

    name: str
    index: Optional[int]
    mtu: Optional[int]
    operstate: Optional[str]
    carrier: Optional[bool]
    admin_up: Optional[bool]
    link_type: Optional[str]
    address: Optional[str]
    permanent_address: Optional[str]
    master: Optional[str]
    parent: Optional[str]
    kind: Optional[str]
    addresses: Tuple[str, ...]


@dataclass(frozen=True)
class IpReport:
    links: Tuple[Link, ...]
    complete: bool

    @property
    def failure(self) -> Optional[str]:
        """An interface that is set up and has no carrier. One that an administrator set down is no failure."""
        dead = [link.name for link in self.links if link.admin_up and link.carrier is False]
        if dead:
            return "no_carrier: %s" % ", ".join(dead)
        if not self.complete:
            return "truncated_json"
        return None if self.links else "no_interfaces"

    @property
    def ok(self) -> bool:
        return self.failure is None


def parse_ip_json(lines: Iterable[str]) -> IpReport:
    document = read_document(lines, TOOL)
    items = document.data if isinstance(document.data, list) else [document.data]
    links = tuple(_link(item) for item in items if isinstance(item, dict) and words(item.get("ifname")))
    if not links and any(item for item in items):
        raise ParseError(TOOL, 1, "no interface in it: give the output of 'ip -j link' or 'ip -j addr'")
    return IpReport(links, document.complete)


def _link(item: Dict[str, Any]) -> Link:
    flags = sequence(item.get("flags")) if "flags" in item else None
    return Link(
        name=str(item["ifname"]),
        index=integer(item.get("ifindex")),
        mtu=integer(item.get("mtu")),
        operstate=words(item.get("operstate")),
        carrier=None if flags is None else "LOWER_UP" in flags and "NO-CARRIER" not in flags,
        admin_up=None if flags is None else "UP" in flags,
        link_type=words(item.get("link_type")),
        address=words(item.get("address")),
        permanent_address=words(item.get("permaddr")),
        master=words(item.get("master")),
        parent=words(item.get("link")),
        kind=words(mapping(item.get("linkinfo")).get("info_kind")),
        addresses=tuple(
            "%s/%s" % (address["local"], address.get("prefixlen"))
            for address in sequence(item.get("addr_info"))
            if isinstance(address, dict) and address.get("local")
        ),
    )


def reading(report: IpReport) -> Dict[str, Any]:
    return {
        "tool": TOOL,
        "interfaces": {link.name: _link_reading(link) for link in report.links},
        "ok": report.ok,
        "failure": report.failure,
    }


def _link_reading(link: Link) -> Dict[str, Any]:
    row: Dict[str, Any] = {
        "mtu": link.mtu,
        "operstate": link.operstate,
        "carrier": link.carrier,
        "link_type": link.link_type,
        "address": link.address,
    }
    for key, value in (
        ("permanent_address", link.permanent_address),
        ("master", link.master),
        ("parent", link.parent),
        ("kind", link.kind),
        ("addresses", list(link.addresses)),
    ):
        if value:
            row[key] = value
    return row

# Copyright: (c) 2026, The gpufleet authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filter ``host_address``: addresses from a host's number."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.gpufleet.cluster.plugins.filter.host_address import host_address


@pytest.mark.parametrize(
    ("cidr", "number", "prefix", "expected"),
    [
        pytest.param("10.0.2.0/24", 11, True, "10.0.2.11/24", id="prefix"),
        pytest.param("10.0.2.0/24", 11, False, "10.0.2.11", id="address"),
        pytest.param("10.0.0.0/22", "300", True, "10.0.1.44/22", id="beyond a byte, number as text"),
        pytest.param("fd00:2::/64", 17, True, "fd00:2::11/64", id="IPv6"),
    ],
)
def test_host_address(cidr: Any, number: Any, prefix: bool, expected: str) -> None:
    assert host_address(cidr, number, prefix) == expected


@pytest.mark.parametrize(
    ("cidr", "number"),
    [("10.0.2.0/24", 256), ("10.0.2.1/24", 1), ("10.0.2.0/24", "one")],
    ids=["outside", "host bits", "no number"],
)
def test_what_cannot_be_is_named(cidr: Any, number: Any) -> None:
    with pytest.raises(AnsibleFilterError, match=f"address number {number!r} of {cidr!r}: "):
        host_address(cidr, number)

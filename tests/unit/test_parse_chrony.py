"""``chronyc -c tracking``. Lines of chrony 4.6.1 (Debian 13) but for addresses."""

from __future__ import annotations

import pytest
from ansible_collections.gpufleet.cluster.plugins.module_utils.errors import ParseError
from ansible_collections.gpufleet.cluster.plugins.module_utils.parse.chrony import (
    ChronyTracking,
    parse_chronyc_tracking,
)

FOLLOWING = (
    "0A4D000B,10.77.0.11,11,1764530000.123456789,-0.000012345,0.000001,0.000022,-1.234,0.001,0.045,0.000401,0.000321,"
    "64.2,Normal\n"
)
LOCAL = "7F7F0101,,10,1764530000.123456789,0.000000000,0.0,0.0,0.000,0.000,0.000,0.000000000,0.000000000,0.0,Normal\n"
NOBODY = "00000000,,0,0.000000000,0.000000000,0.0,0.0,0.000,0.000,0.000,1.000000000,1.000000000,0.0,Not synchronised\n"


@pytest.mark.parametrize(
    ("text", "expected", "synchronised", "local"),
    [
        pytest.param(
            FOLLOWING,
            ChronyTracking("0A4D000B", "10.77.0.11", 11, -0.000012345, 0.000401, 0.000321, "Normal"),
            True,
            False,
            id="following",
        ),
        pytest.param(LOCAL, ChronyTracking("7F7F0101", "", 10, 0.0, 0.0, 0.0, "Normal"), True, True, id="local"),
        pytest.param(
            NOBODY, ChronyTracking("00000000", "", 0, 0.0, 1.0, 1.0, "Not synchronised"), False, False, id="nobody"
        ),
    ],
)
def test_parse(text: str, expected: ChronyTracking, synchronised: bool, local: bool) -> None:
    tracking = parse_chronyc_tracking(text)
    assert (tracking, tracking.synchronised, tracking.local) == (expected, synchronised, local)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "chronyc -c tracking: want one line, got 0"),
        (
            "506 Cannot talk to daemon\n",
            "chronyc -c tracking: line 1: want 14 fields, got 1: 506 Cannot talk to daemon",
        ),
        (FOLLOWING + FOLLOWING, "chronyc -c tracking: want one line, got 2"),
        (
            FOLLOWING.replace(",11,", ",many,"),
            "chronyc -c tracking: line 1: invalid literal for int() with base 10: 'many': "
            + FOLLOWING.replace(",11,", ",many,").strip(),
        ),
    ],
    ids=["empty", "words", "twice", "not-a-number"],
)
def test_unreadable(text: str, message: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_chronyc_tracking(text)
    assert str(error.value) == message

"""The full path-MTU matrix of 200 hosts in one task: three planted faults are found, and nothing else."""

from __future__ import annotations

import pytest

from tests.integration.mtu_run import check_mtu
from tests.integration.mtu_scale import FORKS, HOSTS, differences, names, plant
from tests.integration.netns import fleet

pytestmark = pytest.mark.netns


def test_three_faults_among_200_hosts_and_nothing_else() -> None:
    with fleet(names(HOSTS), acquainted=True) as hosts:
        plant(hosts)
        assert differences(hosts, check_mtu(hosts, forks=FORKS)) == []

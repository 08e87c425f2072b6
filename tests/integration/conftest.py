from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration import lab as lab_


@pytest.fixture(scope="session")
def lab() -> Iterator[None]:
    """A bare lab. One that was running before is left running, bare; one that was not is taken down again."""
    was_up = lab_.command("status", check=False).returncode == 0
    lab_.command("up", timeout=1500)
    if was_up:
        lab_.command("reset")
    yield
    lab_.command("reset" if was_up else "down")

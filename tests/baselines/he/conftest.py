"""Sessions with keys of their own, made once."""

import pytest

from privee.baselines.he.encrypted_session import Session
from privee.baselines.he.planning import plan
from privee.baselines.he.roles import KeyHolder


@pytest.fixture(scope="session")
def ten() -> Session:
    """Ten classes, full precision; keys and one evaluation take seconds, for 102 records at a time."""
    return Session(plan(10, 5))


@pytest.fixture(scope="session")
def four() -> KeyHolder:
    """Four classes, two parties, a coarse gap: the smaller ring."""
    return KeyHolder(plan(4, 2, gap=1 / 16, parties=2))

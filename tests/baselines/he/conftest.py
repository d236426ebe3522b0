"""Sessions with keys of their own, made once."""

import pytest

from privee.defenses.encrypted.planning import plan
from privee.defenses.encrypted.roles import KeyHolder
from privee.defenses.encrypted.session import Session


@pytest.fixture(scope="session")
def ten() -> Session:
    """Ten classes, full precision; keys and one evaluation take seconds, for 102 records at a time."""
    return Session(plan(10, 5))


@pytest.fixture(scope="session")
def four() -> KeyHolder:
    """Four classes, two parties, a coarse gap: the smaller ring."""
    return KeyHolder(plan(4, 2, gap=1 / 16, parties=2))

"""Servers begin in a warm process."""

import pytest

from tests._support.warm_servers import warm_servers


@pytest.fixture(scope="session", autouse=True)
def servers():
    """Started the quick way."""
    with warm_servers():
        yield

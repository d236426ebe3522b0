"""A model of somebody's own and what is recommended for it, once for all tests."""

import pytest

from tests._support import recommended


@pytest.fixture
def one_pool():
    return recommended.one_pool()


@pytest.fixture
def subject():
    return recommended.subject()


@pytest.fixture
def measured():
    return recommended.measured()

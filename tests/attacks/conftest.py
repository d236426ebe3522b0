"""One trained joint model for all tests of attacks."""

import pytest

from tests._support.digits_case import DigitsCase


@pytest.fixture(scope="session")
def case() -> DigitsCase:
    return DigitsCase()

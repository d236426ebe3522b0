"""Places for a party's ledger, in both kinds of database."""

import pytest

from tests._support.party_ledger_cases import Place


@pytest.fixture
def in_file(tmp_path) -> Place:
    return Place(str(tmp_path / "ledger.db"), tmp_path / "ledger.key")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, tmp_path) -> Place:
    if request.param == "sqlite":
        return request.getfixturevalue("in_file")
    return Place(request.getfixturevalue("postgres_url"), tmp_path / "ledger.key")

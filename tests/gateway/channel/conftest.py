"""Four party processes, for all tests of the channel."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests._support.party_world import PARTIES, World, make_world


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_world(tmp_path_factory.mktemp("world"))
    folder = made.folder
    jobs = [(f"mlp/{party}", "mlp", party, "dataset") for party in PARTIES]
    jobs += [("bank/csv", "tables", "bank", folder / "bank.csv")]
    jobs += [("shop/sql", "tables", "shop", f"sqlite:///{folder / 'tables.db'}", "--table", "shop")]
    try:
        with ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda job: made.start(*job), jobs))
        yield made
    finally:
        for process in made.running.values():
            process.kill()

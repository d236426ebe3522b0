"""A party's server in the test's own process, and stores that are slow or break."""

import contextlib
import time
from typing import Any

import numpy as np

from privee.net import Address
from privee.party.ledger import PartyLedger
from privee.party.party_model import PartyModel
from privee.party.server import PartyHandler, PartyServer
from privee.party.stores import Found, MemoryStore, Source, open_store
from privee.party.wire import About
from privee.vfl.run_format import PartyDescription
from tests._support.party_world import World


class SlowStore(MemoryStore):
    """As slow as a database can be."""

    def __init__(self, seconds: float) -> None:
        super().__init__(["a", "b"], np.full((2, 32), 0.5, dtype=np.float32))
        self.seconds = seconds

    def find(self, entities: Any) -> Found:
        time.sleep(self.seconds)
        return super().find(entities)


class BrokenStore(SlowStore):
    def find(self, entities: Any) -> Found:
        raise ZeroDivisionError(entities)


def stored(world: World, run_name: str, party: str, data: str) -> MemoryStore:
    folder = world.part(run_name, party)
    source = Source(data if data == "dataset" else str(world.folder / data))
    return open_store(folder, PartyDescription.read(folder), source)


@contextlib.asynccontextmanager
async def served(
    world: World,
    store: MemoryStore,
    run_name: str = "mlp",
    party: str = "active",
    *,
    listen: str = "127.0.0.1:0",
    tls: bool = False,
    model: Any = None,
    ledger: PartyLedger | None = None,
):
    folder = world.part(run_name, party)
    description = PartyDescription.read(folder)
    model = model or PartyModel(folder, description)
    sealed = None if model.sealed is None else model.sealed.codes
    said = (party, model.weights, model.width, description.features, store.rows, "0")
    about = About(*said, codes=sealed, receipts=ledger is not None)
    service = PartyHandler(about, model, store, tls=tls, ledger=ledger)
    server = await PartyServer.start(service, Address.parse(listen), world.tls(party).load() if tls else None)
    try:
        yield server
    finally:
        await server.stop(0)
        service.close()

"""Sealed runs in small worlds, and parties as `privee party serve` builds them, in the test's own process."""

import asyncio
import contextlib
import dataclasses
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import numpy as np
import torch

from privee.data.datasets import load_dataset
from privee.defenses import defense
from privee.gateway.demo import MODEL, World, make_world
from privee.net import Address
from privee.party.ledger.settings import LedgerSettings
from privee.party.ledger.terms import PartyLimits
from privee.party.server import PartyServer
from privee.party.start import ServeSettings, open_party
from privee.party.stores import Source
from privee.party.wire import EmbedRequest
from privee.pki.identity import TlsFiles
from privee.vfl.embedding_defenses import EmbeddingDefense
from privee.vfl.experiment import open_run, partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.own_tables import from_tables
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal import Seal
from privee.vfl.training import TrainingSettings
from tests._support.gateway_world import body
from tests._support.local_gateway import Local
from tests._support.party_world import make_tables

PASSIVE = "passive-1"
EIGHT = Seal(codes=8)
FOUR = Seal(codes=4, learn="own")


def digits_world(
    folder: Path,
    seals: Mapping[str, Seal],
    *,
    parties: int = 2,
    seed: int = 1,
    defenses: Mapping[str, EmbeddingDefense] | None = None,
) -> World:
    """Digits, some of whose passive parties are sealed (or have embedding defenses), with certificates and a ledger."""
    dataset = load_dataset("digits", seed=seed)
    partition = partition_of(dataset, parties=parties, adversary_fraction=None, how="random", seed=seed)
    settings = TrainingSettings(epochs=3, learning_rate=0.01, seed=seed)
    data = from_dataset(dataset, partition)
    train_run(folder / MODEL, data, "mlp", settings, seals=seals, embedding_defenses=defenses)
    return make_world(folder)


def shops_world(folder: Path, seal: Seal = FOUR) -> World:
    """A bank and a sealed shop with tables of their own; ids are names that show wherever they are told."""
    make_tables(folder)
    files = tables_of(folder)
    data = from_tables(
        files, active="bank", id_columns=dict.fromkeys(files, "customer"), label="risk", test_share=0.3, seed=1
    )
    settings = TrainingSettings(epochs=3, batch_size=32, learning_rate=1e-2)
    train_run(folder / MODEL, data, "logistic", settings, seals={"shop": seal})
    return make_world(folder)


def tables_of(folder: Path) -> dict[str, Path]:
    return {name: folder / f"{name}.csv" for name in ("bank", "shop")}


def own_ledger(place: Path, **limits) -> LedgerSettings:
    """A ledger of the test's own, where the run's folder would have one for all tests."""
    place.mkdir(parents=True, exist_ok=True)
    return LedgerSettings(str(place / "party.db"), place / "party.key", PartyLimits(**limits))


def expected_scores(world: World, files: Mapping[str, Path] | None = None) -> np.ndarray:
    """Of all records, by the model that was trained, in one process."""
    joint, data = open_run(world.run, files)
    return joint.scores(torch.arange(len(data.labels)))


class ServedParty:
    """A party's server in a thread of this process.

    Attributes:
        lie: makes the answer to a request in place of the party, as bytes; None is the truth.
        asked: how many calls came.
    """

    def __init__(
        self,
        world: World,
        party: str,
        ledger: LedgerSettings | None = None,
        *,
        source: Source | None = None,
        run: Path | None = None,
    ) -> None:
        folder = (run or world.run) / "parties" / party
        settings = ServeSettings(folder, source or Source("dataset"), ledger=ledger or LedgerSettings())
        self._handler = open_party(settings, PartyDescription.read(folder), tls=True)
        self._answer, self._handler.answer = self._handler.answer, self.answer
        self._identity = TlsFiles.from_folder(world.certs / party).load()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self.lie: Callable[[EmbedRequest], bytes] | None = None
        self.asked = 0

    def answer(self, frame: bytes) -> tuple[int, int, bytes]:
        self.asked += 1
        if self.lie is None:
            return self._answer(frame)
        request = EmbedRequest.decode(frame)
        return len(request.entities), 0, self.lie(request)

    def say(self, **about) -> None:
        """Describe itself otherwise from now on."""
        self._handler.about = dataclasses.replace(self._handler.about, **about)

    @property
    def weights(self) -> str:
        return self._handler.about.weights

    def __enter__(self) -> "ServedParty":
        self._thread.start()
        start = PartyServer.start(self._handler, Address("127.0.0.1", 0), self._identity)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result(30)
        self.address = str(self._server.address)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(0.2), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._handler.close()


class Asking:
    """A gateway in this process with its parties, and a consumer's client."""

    def __init__(self, gateway: Local, parties: dict[str, ServedParty], client: httpx.Client) -> None:
        self.gateway, self.parties, self.client = gateway, parties, client

    @property
    def charged(self) -> int:
        return self.gateway.service.ledger.totals().charged

    def infer(self, *entities: str, columns: np.ndarray | None = None) -> httpx.Response:
        tensors = list(body(*entities)["inputs"])
        if columns is not None:
            shape, data = list(columns.shape), columns.astype(np.float32).ravel().tolist()
            tensors.append({"name": "columns", "shape": shape, "datatype": "FP32", "data": data})
        return self.client.post(f"/v2/models/{MODEL}/infer", json={"inputs": tensors})

    def scores(self, *entities: str, columns: np.ndarray | None = None) -> np.ndarray:
        """What is released, row by row."""
        answer = self.infer(*entities, columns=columns)
        assert answer.status_code == 200, answer.text
        (output,) = answer.json()["outputs"]
        return np.array(output["data"]).reshape(output["shape"])


@contextlib.contextmanager
def asking(world: World, place: Path, *, codes: Mapping[str, Path] | None = None, **settings) -> Iterator[Asking]:
    """A gateway that releases scores as they are, with no limit but the usual, on parties with ledgers of their own.

    Args:
        world: the run and its certificates.
        place: for ledgers.
        codes: of parties that have handed them over, and are not started.
        settings: of the gateway; `served` makes a party in place of the usual one.
    """
    given = {"defense": defense("none"), "releases": None, "deadline": 5.0, "certs": world.certs} | settings
    handed, served = dict(codes or {}), given.pop("served", {})
    with contextlib.ExitStack() as stack:
        parties = {
            name: stack.enter_context(served[name]() if name in served else _usual(world, name, place))
            for name in world.parties
            if name not in handed
        }
        given["parties"] = {name: party.address for name, party in parties.items()}
        gateway = stack.enter_context(Local(world.folder, place, codes=handed, **given))
        headers = {"Authorization": f"Bearer {gateway.key('consumer')}"}
        client = stack.enter_context(httpx.Client(base_url=gateway.url, headers=headers, timeout=30))
        yield Asking(gateway, parties, client)


def _usual(world: World, party: str, place: Path) -> ServedParty:
    sealed = PartyDescription.read(world.run / "parties" / party).seal is not None
    return ServedParty(world, party, own_ledger(place / party) if sealed else None)

"""What every attack of the red team is given and gives back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from privee.defenses.secret_keys import read_key
from privee.gateway.demo import MODEL, World, make_world, running_parties
from privee.gateway.ledger.ledger import Ledger
from privee.processes import ServerProcess

INFER = f"/v2/models/{MODEL}/infer"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How an attack ended, in words and in plain values."""

    attack: str
    held: bool
    words: str
    measured: dict[str, Any]


class Served(NamedTuple):
    """A gateway that runs, and the ledger that it counts in."""

    process: ServerProcess
    world: World
    ledger: str

    @property
    def url(self) -> str:
        """Where it listens."""
        return self.process.address

    def key(self, **options: Any) -> str:
        """A new consumer's key."""
        return self.world.api_key("consumer", url=self.ledger, **options)


class Scene:
    """A folder to work in, and how much to try: 1 for minutes, a tenth of that in CI. Parties are started once."""

    def __init__(self, folder: Path, size: float) -> None:
        self.folder, self._size = folder, size
        self._parties: dict[World, dict[str, ServerProcess]] = {}
        self._stack, self._ledgers = contextlib.ExitStack(), 0

    def times(self, full: int, least: int = 1) -> int:
        """How often, for an attack that is tried `full` times at full size."""
        return max(least, round(full * self._size))

    def world(self, model: str = "logistic") -> World:
        """A trained run with certificates and a key for ledgers."""
        place = self.folder / model
        place.mkdir(exist_ok=True)
        return make_world(place, model=model, epochs=3)

    def parties(self, world: World) -> dict[str, ServerProcess]:
        """Its honest parties."""
        if world not in self._parties:
            self._parties[world] = self._stack.enter_context(running_parties(world, world.parties))
        return self._parties[world]

    @contextlib.contextmanager
    def gateway(self, world: World, *options: str, **instead: str) -> Iterator[Served]:
        """A gateway with a new ledger, stopped at the end; `instead` are addresses in place of honest parties."""
        honest = {name: process.address for name, process in self.parties(world).items()}
        self._ledgers += 1
        ledger = f"sqlite:///{world.folder / f'ledger-{self._ledgers}.db'}"
        Ledger.create(ledger, read_key(world.ledger_key))
        process = world.gateway(honest | instead, options, url=ledger)
        try:
            yield Served(process.wait_ready(), world, ledger)
        finally:
            process.stop()

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


Attack = Callable[[Scene], Sequence[Outcome]]


@contextlib.contextmanager
def consumer(url: str, key: str, **options: Any) -> Iterator[httpx.Client]:
    """A client with a key."""
    with httpx.Client(base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=30, **options) as client:
        yield client


def entities(*ids: str) -> dict[str, Any]:
    """The protocol's tensor of entities."""
    return {"name": "entities", "shape": [len(ids)], "datatype": "BYTES", "data": list(ids)}


def ask(client: httpx.Client, *ids: str, columns: Sequence[Sequence[float]] | None = None) -> httpx.Response:
    """One request."""
    inputs = [entities(*ids)]
    if columns is not None:
        flat = [value for row in columns for value in row]
        inputs.append({"name": "columns", "shape": [len(columns), len(columns[0])], "datatype": "FP32", "data": flat})
    return client.post(INFER, json={"inputs": inputs})

"""What every attack of the red team is given and gives back."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx

from privee.gateway.demo import MODEL, World, make_world
from privee.gateway.processes import ServerProcess

INFER = f"/v2/models/{MODEL}/infer"


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How an attack ended, in words and in plain values."""

    attack: str
    held: bool
    words: str
    measured: dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Scene:
    """A folder to work in, and how much to try: 1 for minutes, a tenth of that in CI."""

    folder: Path
    size: float

    def times(self, full: int, least: int = 1) -> int:
        """How often, for an attack that is tried `full` times at full size."""
        return max(least, round(full * self.size))

    def world(self, name: str = "world", model: str = "logistic") -> World:
        """A trained run with certificates, a ledger and its key."""
        place = self.folder / name
        place.mkdir(exist_ok=True)
        return make_world(place, model=model, epochs=3)


Attack = Callable[[Scene], Sequence[Outcome]]


@contextlib.contextmanager
def gateway(
    world: World, addresses: dict[str, str], options: Sequence[str], name: str = "gateway", ledger: str | None = None
) -> Iterator[ServerProcess]:
    """A gateway process on parties that listen, stopped at the end."""
    process = world.gateway(addresses, options, name=name, url=ledger)
    try:
        yield process.wait_ready()
    finally:
        process.stop()


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

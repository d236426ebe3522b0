"""One entity under many columns of the active party's choice: where rankings are exact, a few of them tell its private
columns. However it is asked, it must be answered in one variant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import httpx
import numpy as np

from benchmarks._red_team.base import Outcome, Scene, Served, ask, consumer
from benchmarks._red_team.lying_party import LyingParty

WIDTH, CLASSES = 32, 10
OPTIONS = ("--defense", "ranking-only", "--releases", "1000000")


def attack(scene: Scene) -> Sequence[Outcome]:
    """By columns one after the other, many in a batch, many at once with two keys, and by another embedding."""
    world, tries = scene.world(), scene.times(200, least=20)
    ways: dict[str, Callable[[Served, LyingParty, int], int]] = {
        "one by one": _one_by_one,
        "in batches": _in_batches,
        "at once, with two keys": _at_once,
        "by its own server": _by_server,
    }
    with ExitStack() as stack:
        liar = stack.enter_context(LyingParty(world.run / "parties" / "active", world.certs / "active"))
        served = stack.enter_context(scene.gateway(world, *OPTIONS, active=liar.address))
        answered = {way: work(served, liar, tries) for way, work in ways.items()}
    measured = {"tries": tries} | {f"answered_{way}": count for way, count in answered.items()}
    words = f"variants answered in {tries} tries: " + ", ".join(f"{count} {way}" for way, count in answered.items())
    held = answered == {way: 0 if way == "in batches" else 1 for way in ways}
    return [Outcome("variants of one entity's question", held, words, measured)]


def _columns(number: int, rows: int = 1) -> list[list[float]]:
    return np.random.default_rng(number).random((rows, WIDTH)).tolist()


def _answered(client: httpx.Client, entity: str, number: int) -> bool:
    return ask(client, entity, columns=_columns(number)).status_code == 200


def _one_by_one(served: Served, _: LyingParty, tries: int) -> int:
    with consumer(served.url, served.key()) as client:
        return sum(_answered(client, "1", number) for number in range(tries))


def _in_batches(served: Served, _: LyingParty, tries: int) -> int:
    """Two variants of a new entity in each: none of them fits."""
    with consumer(served.url, served.key()) as client:
        return sum(ask(client, "2", "2", columns=_columns(number, 2)).status_code == 200 for number in range(tries))


def _at_once(served: Served, _: LyingParty, tries: int) -> int:
    with ExitStack() as stack:
        clients = [stack.enter_context(consumer(served.url, served.key())) for _ in range(2)]
        pool = stack.enter_context(ThreadPoolExecutor(16))
        return sum(pool.map(lambda number: _answered(clients[number % 2], "3", number), range(tries)))


def _by_server(served: Served, liar: LyingParty, tries: int) -> int:
    draws, answered = np.random.default_rng(0), 0
    with consumer(served.url, served.key()) as client:
        for _ in range(tries):
            liar.embedding = draws.normal(size=CLASSES)
            answered += ask(client, "4").status_code == 200
    liar.embedding = None
    return answered

"""What times tell: equal against unequal API keys, and refused questions about different private columns."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

import numpy as np
from scipy import stats

from benchmarks._red_team.base import Outcome, Scene, ask, consumer
from benchmarks._red_team.lying_party import LyingParty
from privee.defenses.secret_keys import read_key
from privee.gateway.demo import World
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits

LEVEL = 1e-4
"""A comparison that finds a difference where there is none does so in one of ten thousand runs."""


def attack(scene: Scene) -> Sequence[Outcome]:
    """Rank tests of interleaved samples, so that a busy machine slows both sides alike."""
    world = scene.world()
    return [_keys(scene, world), _refusals(scene, world)]


def _keys(scene: Scene, world: World) -> Outcome:
    """A key whose secret differs in the first against one that differs in the last character, and unknown ids."""
    with Ledger.open(world.ledger_url, read_key(world.ledger_key), limits=Limits()) as ledger:
        keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        text = keys.create("timed", "auditor", actor="test").text
        start, last = len("privee_") + 9, text[-1]
        tried = {
            "first": text[:start] + ("A" if text[start] != "A" else "B") + text[start + 1 :],
            "last": text[:-1] + ("A" if last not in "AQgw" else "B"),
            "unknown": f"privee_00000000_{text[start:]}",
        }
        times = _interleaved({name: lambda one=one: keys.find(one) for name, one in tried.items()}, scene.times(4000))
    chances = {name: _chance(times["first"], times[name]) for name in ("last", "unknown")}
    measured = {f"p_{name}": chance for name, chance in chances.items()} | _medians(times)
    words = f"wrong at the first or at the last character of the secret: p = {chances['last']:.2g}"
    return Outcome("timing of API keys", chances["last"] > LEVEL, words, measured)  # that an id exists is no secret


def _refusals(scene: Scene, world: World) -> Outcome:
    """A spent entity asked again: does the time of the refusal tell which class would have won?"""
    active, options = world.run / "parties" / "active", ("--defense", "ordered-dp:epsilon=1", "--epsilon", "1")
    with ExitStack() as stack:
        liar = stack.enter_context(LyingParty(active, world.certs / "active"))
        served = stack.enter_context(scene.gateway(world, *options, active=liar.address))
        client = stack.enter_context(consumer(served.url, served.key()))
        while ask(client, "5").status_code == 200:
            pass
        before = liar.asked

        def with_embedding(value: float) -> None:
            liar.embedding = np.array([value, *[0.0] * 9])
            ask(client, "5")

        sides = {"near": lambda: with_embedding(0.0), "far": lambda: with_embedding(700.0)}
        times = _interleaved(sides, scene.times(400, least=30))
    chance, asked = _chance(times["near"], times["far"]), liar.asked - before
    measured = {"p": chance, "parties_asked": asked} | _medians(times)
    words = f"p = {chance:.2g}; the parties were asked {asked} times for refused questions"
    return Outcome("timing of refusals", chance > LEVEL and asked == 0, words, measured)


def _interleaved(works: dict[str, Callable[[], object]], count: int) -> dict[str, list[float]]:
    """Times of each work, by turns and in an order that changes."""
    times: dict[str, list[float]] = {name: [] for name in works}
    order = np.random.default_rng(0)
    for _ in range(count):
        for name in order.permutation(list(works)):
            started = time.perf_counter()
            works[name]()
            times[name].append(time.perf_counter() - started)
    return times


def _chance(one: Sequence[float], other: Sequence[float]) -> float:
    return float(stats.mannwhitneyu(one, other).pvalue)


def _medians(times: dict[str, list[float]]) -> dict[str, float]:
    return {f"median_ms_{name}": 1e3 * float(np.median(values)) for name, values in times.items()}

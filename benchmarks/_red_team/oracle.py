"""Repeatable draws as an oracle: an active party that changes its embedding gets told for nothing whether the outcome
is one that was charged before, and searches the passive party's embedding by halving."""

from __future__ import annotations

from collections.abc import Sequence

import httpx
import numpy as np

from benchmarks._red_team.base import Outcome, Scene, ask, consumer
from benchmarks._red_team.lying_party import LyingParty
from privee.gateway.demo import World

FAR = np.float32(-1e17)
DEFENSES = {
    "label-only": ("--defense", "label-only", "--releases", "1"),
    "ordered-dp": ("--defense", "ordered-dp:epsilon=1", "--epsilon", "1"),
}


def attack(scene: Scene) -> Sequence[Outcome]:
    """For two defenses: how many free answers, and how much of the passive party's embedding they told."""
    world = scene.world()
    active = world.run / "parties" / "active"
    with LyingParty(active, world.certs / "active") as liar:
        return [_one(scene, world, liar, name) for name in DEFENSES]


def _one(scene: Scene, world: World, liar: LyingParty, name: str) -> Outcome:
    pairs, halvings = scene.times(9, least=2), scene.times(30, least=8)
    options = (*DEFENSES[name], "--repeatable", "--variants", "none")  # a pinned question would end it at once
    with scene.gateway(world, *options, active=liar.address) as served, consumer(served.url, served.key()) as client:
        free = sum(_search(client, liar, rival, halvings) for rival in range(1, pairs + 1))
        again = _same_again(client, liar)
    tries = pairs * halvings
    words = f"{free} free answers in {tries} tries with changed embeddings"
    measured = {"tries": tries, "free_answers": free, "same_question_again_free": again}
    return Outcome(f"repeatable oracle, {name}", free == 0 and again, words, measured)


def _search(client: httpx.Client, liar: LyingParty, rival: int, halvings: int) -> int:
    """Look for the place where class 0 and its rival change, by whether an answer is free; how many were."""
    entity, free, low, high = str(rival), 0, -64.0, 64.0
    liar.embedding = _two(0, rival, 0.0, -1e3)  # class 0 wins for sure: the one charged question
    ask(client, entity).raise_for_status()
    for _step in range(halvings):
        middle = (low + high) / 2
        liar.embedding = _two(0, rival, 0.0, middle)
        if ask(client, entity).status_code == 200:  # the charged outcome, so class 0 still wins
            free, low = free + 1, middle
        else:
            high = middle
    return free


def _two(first: int, second: int, one: float, other: float) -> np.ndarray:
    """An embedding under which two classes alone can win; the scores of all others are exactly 0."""
    made = np.full(10, FAR, dtype=np.float32)
    made[first], made[second] = one, other
    return made


def _same_again(client: httpx.Client, liar: LyingParty) -> bool:
    """The feature itself: the same question is answered the same, for nothing."""
    liar.embedding = None
    first, second = ask(client, "900").json(), ask(client, "900").json()
    return bool(first["outputs"] == second["outputs"] and second["parameters"]["charged"] == 0)

"""One question in different company: with repeatable draws it must be one release and one charge."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._red_team.base import Outcome, Scene, ask, consumer

SIZES = (1, 2, 3, 5, 8, 31, 32, 33, 64, 200)


def attack(scene: Scene) -> Sequence[Outcome]:
    """Ask about one entity of a neural model in batches of many sizes, at the first and at the last place."""
    options = ("--defense", "ordered-dp:epsilon=1", "--epsilon", "1", "--repeatable")
    with scene.gateway(scene.world("mlp"), *options) as served, consumer(served.url, served.key()) as client:
        seen, refused = set(), 0
        for size in SIZES[: scene.times(len(SIZES), least=5)]:
            for place in {0, size - 1}:
                others = [str(100 + k) for k in range(size - 1)]
                answer = ask(client, *others[:place], "7", *others[place:])
                refused += answer.status_code != 200
                if answer.status_code == 200:
                    seen.add(tuple(answer.json()["outputs"][0]["data"][10 * place : 10 * place + 10]))
    measured = {"different_releases": len(seen), "refused": refused}
    words = f"{len(seen)} release of one question, {refused} requests refused"
    return [Outcome("one question in any company (mlp)", len(seen) == 1 and refused == 0, words, measured)]

"""One question in different company: with repeatable draws it must be one release and one charge."""

from __future__ import annotations

from collections.abc import Sequence

from privee.gateway.demo import running
from tests.red_team.base import Outcome, Scene, ask, consumer

SIZES = (1, 2, 3, 5, 8, 31, 32, 33, 64, 200)


def attack(scene: Scene) -> Sequence[Outcome]:
    """Ask about one entity of a neural model in batches of many sizes, at the first and at the last place."""
    world = scene.world("mlp", model="mlp")
    options = ("--defense", "ordered-dp:epsilon=1", "--epsilon", "1", "--repeatable")
    with running(world, options) as (gateway, _), consumer(gateway.address, world.api_key("consumer")) as client:
        seen, charges = set(), 0
        for size in SIZES[: scene.times(len(SIZES), least=5)]:
            for place in {0, size - 1}:
                ids = [str(100 + k) for k in range(size)]
                ids[0], ids[place] = ids[place], "7"
                answer = ask(client, *dict.fromkeys([*ids[:place], "7", *ids[place:]]))
                charges += answer.status_code == 429
                if answer.status_code == 200:
                    where = list(dict.fromkeys([*ids[:place], "7", *ids[place:]])).index("7")
                    seen.add(tuple(answer.json()["outputs"][0]["data"][10 * where : 10 * where + 10]))
    measured = {"different_releases": len(seen), "refused": charges}
    words = f"{len(seen)} release of one question, {charges} requests refused"
    return [Outcome("one question in any company (mlp)", len(seen) == 1 and charges == 0, words, measured)]

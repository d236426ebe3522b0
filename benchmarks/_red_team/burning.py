"""One consumer's key that asks about everybody until nobody else can."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._red_team.base import Outcome, Scene, ask, consumer

ENTITIES, RELEASES, QUOTA = 1200, 10, 1000


def attack(scene: Scene) -> Sequence[Outcome]:
    """With a key as `privee keys create` makes it: entities that a second consumer finds exhausted afterwards."""
    ids = [str(k) for k in range(scene.times(ENTITIES, least=300))]
    with scene.gateway(scene.world(), "--defense", "label-only", "--releases", str(RELEASES)) as served:
        with consumer(served.url, served.key(quotas=None)) as thief:
            codes = [ask(thief, *batch).status_code for batch in _hundreds(ids) for _ in range(RELEASES)]
        some = ids[:: max(1, len(ids) // 100)]
        with consumer(served.url, served.key()) as other:
            share = sum(ask(other, one).status_code == 429 for one in some) / len(some)
    answered = codes.count(200) * 100
    most = QUOTA / RELEASES / len(ids) + 0.02  # a day's quota spent on as few entities as possible
    words = f"{answered} of {len(codes) * 100} releases to one key; {share:.0%} of the entities exhausted for others"
    return [
        Outcome("one key burns all budgets", share <= most, words, {"released": answered, "exhausted_share": share})
    ]


def _hundreds(ids: Sequence[str]) -> list[Sequence[str]]:
    return [ids[start : start + 100] for start in range(0, len(ids), 100)]

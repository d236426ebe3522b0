"""Budgets of every defense: by epsilon as the gateway counts it, or a sentence why no number bounds anything."""

import dataclasses
from typing import ClassVar

import numpy as np
import pytest

import privee
from privee.defenses import known_defenses
from privee.defenses.rank_noise import RankNoise
from privee.errors import SettingError
from privee.theory.release_budget import most_releases, release_budget
from tests._support.scores import softmax_rows

MADE = [privee.defense(cls.example or name) for name, cls in known_defenses().items()]


@pytest.mark.parametrize("defense", [one for one in MADE if not isinstance(one, RankNoise)], ids=lambda one: one.name)
def test_every_defense_has_a_number_or_a_sentence(defense):
    found = release_budget(defense, classes=10)
    epsilon = defense.guarantee(10).epsilon
    assert (found.queries is not None) == bool(epsilon)
    again = [defense.release(softmax_rows(200, 10, 0.5)) for _ in range(2)] if epsilon is None else [0, 0]
    without = "repeats" if np.array_equal(*again) else "unbounded"  # fresh draws of which nothing is proven
    assert found.kind == ("epsilon" if epsilon else without if epsilon is None else "unlimited")
    assert len(found.words.split()) > 8


@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-6, 0.1])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 0.3, 1, 2.666, 8, 9])
def test_it_is_the_number_that_the_gateway_allows(epsilon, delta):
    base = pytest.importorskip("privee.gateway.budget.base")
    from privee.gateway.budget.price import NOTHING, Price

    defense = privee.OrderedDP(epsilon=epsilon)
    (policy,) = base.wanted_policies({"epsilon": 8, "delta": delta}, defense, 10)
    allowed = policy.remaining(NOTHING, Price.of(defense, 10))
    assert release_budget(defense, total=8, delta=delta).queries == allowed


def test_one_more_release_is_too_much():
    for epsilon, total, delta in [(0.1, 1, 0), (0.5, 8, 1e-6), (0.01, 2, 1e-5)]:
        most = most_releases(epsilon, total, delta)
        assert privee.theory.composed_epsilon(epsilon, most, delta) <= total + 1e-12
        assert privee.theory.composed_epsilon(epsilon, most + 1, delta) > total


def test_fresh_noise_without_a_proof_is_not_taken_for_repeated():
    @dataclasses.dataclass(frozen=True)
    class Shaken(privee.NoDefense):
        name: ClassVar[str] = "shaken"

        def _release(self, rows, sums, draws):
            return rows + 1e-3 * draws.uniform(rows.shape).astype(rows.dtype)

    assert release_budget(Shaken()).kind == "unbounded"
    assert not np.array_equal(*(Shaken().release([0.5, 0.5]) for _ in range(2)))


@pytest.mark.parametrize(("total", "delta"), [(0, 0), (-1, 0), (float("inf"), 0), (float("nan"), 0), (8, 1), (8, -0.1)])
def test_bad_totals_are_refused(total, delta):
    with pytest.raises(SettingError, match="total epsilon"):
        release_budget(privee.OrderedDP(epsilon=1), total=total, delta=delta)

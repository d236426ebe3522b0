"""Defenses of the related work: who knows them does better than who does not, or both are at the guess."""

import pytest

import privee
from privee.attacks import EquationSolving, LearnedInversion, PriorInformed
from privee.attacks.metrics import feature_mse, regression_guess

SPECS = [
    "one-parameter:epsilon=8",
    "one-parameter:epsilon=1000",
    "op-epsilon:epsilon=2,seed=1",
    "op-epsilon:epsilon=64,seed=1",
    "reverse-sigmoid",
    "high-confidence",
    "memguard",
    "purifier",
]
ATTACKS = (EquationSolving(), LearnedInversion(simulations=1), PriorInformed(iterations=100))


@pytest.mark.parametrize("spec", SPECS)
def test_who_knows_the_defense_does_better_than_who_does_not(case, spec):
    """Best of three attacks on 300 records: far below the naive one's error, and never above the best guess's.

    Without the release the guess is all there is, so one per cent above it is what a useless release may cost.
    """
    guess = feature_mse(regression_guess(case.view(spec, adaptive=True)), case.truth)
    naive, adaptive = (min(case.error(attack, spec, adaptive=knows) for attack in ATTACKS) for knows in (False, True))
    assert adaptive < naive / 2
    assert adaptive < 1.01 * guess


@pytest.mark.parametrize(
    ("spec", "least", "most"),
    [
        ("memguard", 0.0, 0.8),  # most of what scores tell comes through
        ("high-confidence", 0.0, 0.95),
        ("one-parameter:epsilon=1000", 0.0, 0.98),
        ("op-epsilon:epsilon=2,seed=1", 0.98, 1.01),  # hides nearly all, and breaks the class
    ],
)
def test_what_comes_through_shows_in_the_error(case, spec, least, most):
    guess = feature_mse(regression_guess(case.view(spec, adaptive=True)), case.truth)
    error = min(case.error(attack, spec, adaptive=True) for attack in ATTACKS)
    assert least < error / guess < most


def test_all_that_related_work_brought_is_attacked_here():
    brought = {"one-parameter", "op-epsilon", "reverse-sigmoid", "high-confidence", "memguard", "purifier"}
    assert {privee.defense(spec).name for spec in SPECS} == brought

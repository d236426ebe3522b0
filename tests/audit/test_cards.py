"""An audit's figures: intervals over seeds, and scorecards from findings."""

import numpy as np
import pytest
from scipy import stats

from privee.audit.cards import estimate, make_cards
from privee.audit.results import Finding, Handout, SubjectInfo


def test_intervals_over_seeds_are_t_intervals():
    values = np.random.default_rng(0).normal(5, 1, 7)
    found = estimate(values.tolist())
    low, high = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
    assert (found.low, found.high, found.seeds) == (pytest.approx(low), pytest.approx(high), 7)
    assert estimate([0.3]).low is None


def test_intervals_hold_what_they_promise():
    """2,000 sets of five: misses of the true mean are binomial(2000, 0.05); 4 standard deviations are 39."""
    rng = np.random.default_rng(3)
    found = [estimate(rng.normal(9.0, 1.0, 5).tolist()) for _ in range(2000)]
    misses = sum(not e.low <= 9.0 <= e.high for e in found)
    assert abs(misses - 100) < 39


def finding(defense: str, attack: str, attacker: str, error: float | None, seed: int = 0, **more) -> Finding:
    return Finding(subject="s", defense=defense, attack=attack, attacker=attacker, seed=seed, feature_mse=error, **more)


def cards_of(findings):
    info = SubjectInfo(name="s", model="m", known_columns=1, unknown_columns=1, classes=3, records=9, auxiliary_rows=9)
    kept = {"ranking_kept": 1.0, "label_kept": 1.0, "mean_l1_moved": 0.5, "top_score_error": 0.1}
    specs = dict.fromkeys(f.defense for f in findings if f.defense)
    handouts = [Handout(subject="s", defense=spec, seed=0, **kept) for spec in specs]
    return {card.defense: card for card in make_cards([info], findings, handouts)}


GUESSES = [finding("", "mean guess", "guess", 0.05), finding("", "regression guess", "guess", 0.02)]


def test_an_attack_tried_with_one_seed_is_judged_by_the_guess_with_that_seed():
    """The first seed's records are easy for everybody: who was tried there alone has done nothing special."""
    guesses = [finding("", "mean guess", "guess", error, seed) for seed, error in enumerate((0.01, 0.05, 0.09))]
    adaptive = [
        finding("none", "a", "adaptive", e / 2, k, guess_normalised=0.5) for k, e in enumerate((0.01, 0.05, 0.09))
    ]
    naive = finding("none", "b", "naive", 0.009, 0, guess_normalised=0.9)
    lost = finding("none", "c", "naive", 0.02, 0, guess_normalised=2.0)
    card = cards_of([*guesses, *adaptive, naive, lost])["none"]
    assert (card.headline.attack, card.guess_normalised) == ("a", 0.5)
    assert card.failed == ("c (naive)",)


def test_the_smallest_error_is_the_headline_and_losers_are_marked():
    cards = cards_of(
        [
            *GUESSES,
            finding("none", "strong", "naive", 0.001),
            finding("none", "weak", "naive", 0.3),
            finding("privee-u:rho=0.1", "strong", "naive", 0.3),
            finding("privee-u:rho=0.1", "strong", "adaptive", 0.004),
            finding("privee-u:rho=0.1", "absent", "adaptive", None, status="skipped", reason="no gradients"),
            finding("ranking-only", "strong", "adaptive", 0.016),
            finding("label-only", "strong", "adaptive", 0.04),
        ]
    )
    card = cards["privee-u:rho=0.1"]
    assert (card.headline.error.mean, card.guess.attack, card.guess_normalised) == (0.004, "regression guess", 0.2)
    assert card.attainable_protection == pytest.approx((0.004 - 0.001) / (0.016 - 0.001))
    assert card.failed == ("strong (naive)",)
    assert card.skipped == {"absent (adaptive)": "no gradients"}
    assert cards["none"].failed == ("weak (naive)",)
    assert [cards[d].grade for d in ("none", "privee-u:rho=0.1", "ranking-only")] == ["open", "weak", "partial"]
    assert "to within 6.3 %" in card.verdict
    guarded = cards["label-only"]  # an attack that loses to a guess gives way to it
    assert (guarded.grade, guarded.headline.attack, guarded.guess_normalised) == ("guarded", "regression guess", 1.0)
    assert "no attack tried did better than the regression guess" in guarded.verdict


def test_means_over_seeds_choose_the_attack_not_one_lucky_seed():
    lucky = [finding("none", "lucky", "adaptive", e, s) for s, e in enumerate((0.0001, 0.04, 0.04))]
    steady = [finding("none", "steady", "adaptive", 0.01, s) for s in range(3)]
    card = cards_of([*GUESSES, *lucky, *steady])["none"]
    assert card.adaptive.attack == "steady"

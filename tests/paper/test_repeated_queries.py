"""Repeated queries: estimators, theory and the test that may call it wrong."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy import stats

from privee.attacks import AttackerView, WhiteBox
from privee.attacks.repeated_query import join_releases
from privee.audit.task import QUERIES, REPEATS
from privee.defenses import PriveeU, PriveeUPlus
from privee.paper import Bench, measure_result
from privee.paper.measure.repeated_rows import (
    ESTIMATORS,
    chance_of_as_many,
    chance_of_miss,
    count_misses,
    curve_rows,
    errors_after,
)
from privee.paper.outcomes import Value, outcome_from_dict
from privee.paper.results import repeated_query_curves as module
from privee.paper.results.repeated_query_curves import (
    FALSE_ALARM,
    RepeatedQueries,
    RepeatedQueriesEverywhere,
    example_row,
    records_for,
)
from privee.randomness import seeded
from privee.theory import minimum_estimate
from tests._support.scores import softmax_rows

U, U_PLUS = PriveeU(rho=0.1), PriveeUPlus(rho_low=0.1, rho_high=0.9)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    return Bench("quick", tmp_path_factory.mktemp("paper") / "runs", jobs=1)


@pytest.mark.parametrize("defense", [U, U_PLUS])
def test_estimators_are_those_of_theory_and_of_the_attack(defense):
    vector = softmax_rows(1, 6, 2.0, seed=4)[0]
    releases = defense.release(np.tile(vector, (5 * 7, 1)), draws=seeded(1)).reshape(5, 7, 6)
    model = WhiteBox(lambda own, unknown: own.repeat(1, 6), own_columns=1, unknown_columns=1, n_classes=6)
    view = AttackerView(torch.zeros(5, 1), model, torch.from_numpy(releases.swapaxes(0, 1).copy()), defense, True)
    for name, estimate in ESTIMATORS.items():
        assert np.allclose(estimate(releases, defense), join_releases(view, name).numpy(), rtol=1e-12, atol=1e-14)
    one_by_one = [minimum_estimate(some, defense) for some in releases]
    assert np.array_equal(ESTIMATORS["minimum"](releases, defense), one_by_one)


def test_the_worked_example_gives_the_printed_figures():
    row = example_row()
    assert row.measured["minimum"].value == pytest.approx((0.02 + 0.16 / 1.5) / 2, abs=1e-12)
    assert row.measured["theory"].value == pytest.approx((0.2 / 8 + 0.8 / 12) / 2, abs=1e-12)
    assert {name: round(value.value, 4) for name, value in row.measured.items()} == {
        name: value.value for name, value in row.printed.items()
    }


def test_a_t_interval_misses_more_often_when_errors_are_skewed():
    """20,000 simulations: the standard error is at most 0.0022, and the limits are five of them away."""
    after_many = chance_of_miss(np.array([3.0]), 1000, repeats=20, simulations=20_000, draws=seeded(1))
    assert 0.065 < after_many < 0.10  # nearly exponential errors
    at_once = chance_of_miss(np.full(12, 3.0), 1, repeats=20, simulations=20_000, draws=seeded(2))
    assert 0.042 < at_once < 0.058  # sums of uniform ones: nearly normal


def test_scores_of_zero_take_no_part():
    kappa = np.array([2.0, np.inf, 5.0])
    chances = [chance_of_miss(k, 50, repeats=20, simulations=500, draws=seeded(3)) for k in (kappa, kappa[[0, 2]])]
    assert chances[0] == chances[1]


def test_how_likely_so_many_misses_are():
    assert chance_of_as_many(0, [0.05] * 40) == 1.0
    assert chance_of_as_many(3, [0.04, 0.06] * 20) == pytest.approx(stats.binom(40, 0.05).sf(2))


@pytest.mark.parametrize("defense", [PriveeU(rho=0.3, amplitude=0.485), U_PLUS])
def test_theory_holds_and_a_wrong_theory_is_found_out(defense):
    """Draws are seeded; over seeds, a true theory would be refused once in a thousand times."""
    rows = curve_rows(softmax_rows(4, 8, seed=2), defense, {"dataset": "made"}, ("minimum",), curves=1)
    misses, count, p = count_misses(rows)
    assert count == len(QUERIES)
    assert p > FALSE_ALARM, f"{misses} misses"
    wrong = [_with_theory(row, 1.5 * row.measured["theory"].value) for row in rows]
    assert count_misses(wrong)[2] < FALSE_ALARM


def _with_theory(row, theory):
    return dataclasses.replace(row, measured=row.measured | {"theory": Value(value=theory)})


def test_every_number_of_queries_has_draws_of_its_own():
    """With shared draws the smallest of two releases can never be above the first one."""
    vector = softmax_rows(1, 5, 1.0, seed=8)
    rows = curve_rows(vector, U, {"dataset": "made"}, ("minimum",), curves=40)
    again = curve_rows(vector, U, {"dataset": "made"}, ("minimum",), curves=40)
    assert rows == again
    first, second = (
        errors_after(
            vector[0],
            U,
            queries,
            repeats=REPEATS,
            draws=seeded(0, "repeated queries", "made", U.spec, queries, 0),
            estimators=["minimum"],
        )["minimum"]
        for queries in (1, 2)
    )
    assert rows[0].measured["minimum"].value == pytest.approx(first.mean())
    assert rows[1].measured["minimum"].value == pytest.approx(second.mean())
    assert (second > first).any()


def test_repeated_queries_on_digits(bench):
    outcome = measure_result(RepeatedQueries(), bench)
    assert len(outcome.rows) == 4 * len(QUERIES) + 1
    assert outcome.account.agrees is True
    assert "0.0633 and 0.0458" in outcome.account.printed
    assert "0.0633 and 0.0458" in outcome.account.measured
    by_rho = {row.where["rho"]: row.where["sigma"] for row in outcome.rows[:-1]}
    assert by_rho == {rho: pytest.approx(0.485 / rho) for rho in (0.1, 0.3, 0.5, 0.7)}
    assert outcome_from_dict(json.loads(json.dumps(outcome.as_dict()))).account == outcome.account
    (axes,) = RepeatedQueries().figure(outcome).axes
    names = [line.get_label() for line in axes.lines]
    assert [name for name in names if name.endswith(("0.1", "0.3", "0.5", "0.7"))] == [
        f"\u03c1 = {rho}" for rho in (0.1, 0.3, 0.5, 0.7)
    ]


def test_an_account_that_does_not_agree(bench):
    rows = RepeatedQueries().rows(bench)
    wrong = [_with_theory(row, 2 * row.measured["theory"].value) if not row.printed else row for row in rows]
    assert RepeatedQueries().account(wrong).agrees is False
    assert "chance" in RepeatedQueries().account(wrong).reason
    other = dataclasses.replace(rows[-1], measured=rows[-1].measured | {"minimum": Value(value=0.0631)})
    assert RepeatedQueries().account([*rows[:-1], other]).agrees is False


def test_more_estimators_and_privee_u_plus(bench, monkeypatch):
    monkeypatch.setitem(module.MOST_RECORDS, "quick", 3)
    outcome = measure_result(RepeatedQueriesEverywhere(), bench)
    assert {row.where["defense"] for row in outcome.rows} == set(module.ALL_DEFENSES)
    assert {row.where["records"] for row in outcome.rows} == {3}
    assert count_misses(outcome.rows)[2] > FALSE_ALARM
    assert outcome.account.agrees is None
    for row in outcome.rows:
        if row.where["queries"] == 1000:
            assert row.measured["likelihood"].high < row.measured["minimum"].low
    figure = RepeatedQueriesEverywhere().figure(outcome)
    assert [axes.get_title() for axes in figure.axes] == ["digits", "digits"]


def test_about_as_much_work_for_every_number_of_classes():
    assert [records_for(classes, "full") for classes in (2, 10, 11, 100, 1000)] == [100, 100, 90, 10, 5]
    assert records_for(10, "quick") == 10

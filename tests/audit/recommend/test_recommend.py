"""Recommendations: the rules, the figures behind them, and the command as a user runs it."""

import numpy as np
import pytest

import privee
from privee.audit.recommend import Effort, Wishes, candidates, recommend
from privee.audit.recommend.evidence import synthetic_ground
from privee.audit.recommend.limits import TOP_GAP, TOP_SHARE
from privee.audit.recommend.rules import EPSILONS
from privee.errors import PriveeError
from tests._support.scores import softmax_rows

REFUSED = {"none", "temperature", "privee-u", "privee-u+"}


@pytest.mark.parametrize(
    ("wishes", "name", "settings"),
    [
        ({}, "ranking-only", {}),
        ({"formal": True}, "ranking-only", {}),
        ({"epsilon": 0.01, "queries": 1000}, "ranking-only", {}),
        ({"keep": "top-9"}, "ranking-only", {}),  # nine of ten settle the tenth
        ({"keep": "class"}, "label-only", {}),
        ({"keep": "top-1"}, "label-only", {}),
        ({"keep": "class", "calibrated_top": True}, "ordered-dp", {"keep_top": 1}),
        ({"keep": "class", "max_moved": 0.4}, "ordered-dp", {"keep_top": 1}),
        ({"keep": "top-3"}, "ordered-dp", {"keep_top": 3, "epsilon": 0.5}),
        ({"keep": "top-3", "epsilon": 1, "queries": 4}, "ordered-dp", {"keep_top": 3, "epsilon": 0.25}),
        ({"max_moved": 0.3}, "ordered-dp", {"keep_top": None, "prior": None}),
        ({"calibrated_top": True}, "ordered-dp", {"keep_top": None}),
        ({"max_moved": 2.0, "formal": True}, "ordered-dp", {"epsilon": 0.5}),
    ],
)
def test_the_rules(wishes, name, settings):
    found = recommend(Wishes(**wishes), n_classes=10)
    assert found.met
    assert found.unmet == {}
    assert found.chosen.settings["name"] == name
    assert settings.items() <= found.chosen.settings.items()
    assert {option.settings["name"] for option in found.not_protective} == REFUSED
    assert "rounding:digits=2" in {option.defense for option in found.alternatives}
    assert found.chosen.defense not in {option.defense for option in (*found.alternatives, *found.not_protective)}


@pytest.mark.parametrize("classes", [2, 3, 40])
@pytest.mark.parametrize("keep", ["class", "top-2", "ranking"])
@pytest.mark.parametrize("more", [{}, {"calibrated_top": True}, {"max_moved": 0.6, "queries": 3, "formal": True}])
def test_what_must_stay_exact_does(classes, keep, more):
    """Whatever is recommended keeps the order that was asked for, on saturated scores and with ties too."""
    chosen = privee.defense(**recommend(Wishes(keep=keep, **more), n_classes=classes).chosen.settings)
    assert chosen.name not in REFUSED
    scores = np.concatenate([softmax_rows(100, classes, 40.0), np.full((2, classes), 1 / classes)])
    order, after = (np.argsort(-x, axis=1, kind="stable") for x in (scores, chosen.release(scores)))
    leading = {"class": 1, "top-2": min(2, classes), "ranking": classes}[keep]
    assert (order[:, :leading] == after[:, :leading]).all()


def test_calibrated_means_calibrated_and_better_than_one_number():
    found = recommend(Wishes(calibrated_top=True), n_classes=10)
    figures, scores = found.chosen.figures, synthetic_ground(10, learn=False).scores[0]
    one_number = np.abs(scores.max(axis=1) - np.median(scores.max(axis=1))).mean()
    assert figures.calibration_gap <= TOP_GAP
    assert figures.top_score_error <= TOP_SHARE * one_number
    safer = next(option for option in found.alternatives if option.settings["name"] == "ordered-dp")
    assert safer.settings["epsilon"] == EPSILONS[EPSILONS.index(found.chosen.settings["epsilon"]) - 1]
    assert safer.figures.top_score_error > TOP_SHARE * one_number
    assert "top score" in safer.why
    assert found.chosen.settings["prior"] is not None
    assert "fitted" in found.use  # the prior of synthetic scores is nobody's
    assert any("synthetic" in note for note in found.notes)


def test_tighter_limits_cost_epsilon_and_are_kept():
    spent = []
    for most in (2.0, 0.9, 0.7, 0.5, 0.4, 0.3, 0.25):
        found = recommend(Wishes(max_moved=most), n_classes=10)
        assert found.met
        assert found.chosen.figures.mean_l1_moved <= most
        safer = [option for option in found.alternatives if "moves scores by" in option.why]
        assert all(option.figures.mean_l1_moved > most for option in safer)
        assert len(safer) == (found.chosen.epsilon > EPSILONS[0])
        spent.append(found.chosen.epsilon)
    assert spent == sorted(spent)
    assert spent[0] < spent[-1]


def test_more_releases_share_the_budget():
    allowed = []
    for queries in (1, 2, 3, 7, 16, 1000):
        found = candidates(Wishes(max_moved=0.1, epsilon=8, queries=queries), 10)
        epsilons = [defense.epsilon for defense in found]
        assert epsilons == sorted(set(epsilons))
        assert 0.99 * 8 <= queries * epsilons[-1] <= 8 + 1e-9
        allowed.append(epsilons[-1])
    assert allowed == sorted(set(allowed), reverse=True)
    assert candidates(Wishes(max_moved=0.1, formal=True), 10)[-1].epsilon == 8
    assert candidates(Wishes(max_moved=0.1), 10)[-1].epsilon == 64


def test_releases_add_up_and_repeats_do_not():
    found = recommend(Wishes(max_moved=0.5, epsilon=32, queries=4), n_classes=10)
    first, second, third = found.over_releases
    assert f"4 x {found.chosen.epsilon:g} = {4 * found.chosen.epsilon:g} (budget: 32)" in first
    assert f"Repeatable) the same query gets the same release and costs epsilon {found.chosen.epsilon:g} once" in second
    assert "ordered-dp:epsilon=32 moves scores by" in third
    assert "no more than one" in recommend(Wishes(queries=4), n_classes=10).over_releases[0]


@pytest.mark.parametrize(
    ("wishes", "nearest", "would_do"),
    [
        ({"max_moved": 0.001}, 64, "no epsilon up to 64 meets all wishes"),
        (
            {"max_moved": 0.3, "epsilon": 8, "queries": 5},
            1.6,
            "epsilon 12 for each release would do, 60 in all (12 for repeats of one query)",
        ),
        ({"max_moved": 0.3, "formal": True}, 8, "epsilon 12 would do"),
    ],
)
def test_what_cannot_be_met_is_said(wishes, nearest, would_do):
    found = recommend(Wishes(**wishes), n_classes=10)
    assert not found.met
    assert set(found.unmet) == {"max_moved"}
    assert would_do in found.unmet["max_moved"]
    assert "comes nearest" in found.chosen.why
    assert found.chosen.epsilon == nearest
    tried = [*(o for o in found.alternatives if o.settings["name"] == "ordered-dp"), found.chosen]
    assert min(option.figures.mean_l1_moved for option in tried) == found.chosen.figures.mean_l1_moved > 0.001


def test_rounding_is_named_with_the_order_it_breaks():
    option = next(o for o in recommend(Wishes(), n_classes=10).alternatives if o.defense == "rounding:digits=2")
    assert option.figures.ranking_kept < 0.5
    assert f"ranking kept in {option.figures.ranking_kept:.0%} of records" in option.why
    assert option.epsilon is None


def test_something_safer_within_the_limits_is_pointed_out():
    found = recommend(Wishes(max_moved=1.9), n_classes=10)
    assert "it is within the limits" in next(o.why for o in found.alternatives if o.defense == "ranking-only")
    found = recommend(Wishes(max_moved=0.5), n_classes=10)
    assert "it is within the limits" not in next(o.why for o in found.alternatives if o.defense == "ranking-only")


@pytest.mark.parametrize(
    ("wishes", "says"),
    [
        ({"keep": "top-0"}, "keep must be ranking, class, order-of-records, or top-K such as top-3, got 'top-0'"),
        ({"keep": "top-x"}, "keep must be"),
        ({"keep": "top-11"}, "top-11 asks for more classes than there are (10)"),
        ({"epsilon": 0}, "epsilon must be a number above 0, got 0"),
        ({"epsilon": float("nan")}, "epsilon must be a number above 0"),
        ({"max_moved": -0.1}, "max_moved must be a number above 0, got -0.1"),
        ({"max_moved": 0}, "max_moved must be a number above 0, got 0"),
        ({"queries": 0}, "queries must be a whole number from 1"),
        ({"max_moved": 0.1, "epsilon": 0.01, "queries": 11}, "epsilon leaves less than 0.001 for each release"),
    ],
)
def test_senseless_wishes_get_one_line(wishes, says):
    with pytest.raises(PriveeError) as raised:
        recommend(Wishes(**wishes), n_classes=10)
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_advice_is_on(subject):
    with pytest.raises(PriveeError, match="a model, or how many classes"):
        recommend(Wishes())
    with pytest.raises(PriveeError, match="the model has 6 classes, not 7"):
        recommend(Wishes(), n_classes=7, subject=subject)
    with pytest.raises(PriveeError, match="classes must be a whole number from 2"):
        recommend(Wishes(), n_classes=1)
    with pytest.raises(PriveeError, match="seeds must be a whole number from 1"):
        Effort(seeds=0)

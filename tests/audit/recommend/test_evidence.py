"""The figures behind recommendations."""

import dataclasses
import json

import numpy as np
import pytest

import privee
from privee.audit import Grid, run_grid
from privee.audit.recommend import Wishes, recommend
from privee.audit.recommend.evidence import model_ground, synthetic_ground
from privee.audit.recommend.rules import not_protective
from tests._support.recommended import ACTIVE, EFFORT, ROWS, model


def test_synthetic_figures_are_those_of_the_release():
    found = recommend(Wishes(max_moved=0.5), n_classes=20)
    assert found.tried == "synthetic"
    assert "synthetic" in found.tried_on
    scores = synthetic_ground(20, learn=False).scores[0]
    for option in (found.chosen, *found.alternatives, *found.not_protective):
        assert option.attacked is None
        defense = privee.defense(option.defense)
        release = defense.release(scores, draws=privee.seeded(0, "release", option.defense))
        assert option.figures.mean_l1_moved == pytest.approx(np.abs(release - scores).sum(axis=1).mean())
        undone = np.abs(defense.estimate_scores(release) - scores).sum(axis=1).mean()
        assert option.figures.left_after_inverse == pytest.approx(undone)
        assert option.proven == defense.guarantee(20).proven
        assert option.epsilon == defense.guarantee(20).epsilon
    # PRIVEE-U moves scores most, and is undone: that is why it is never recommended.
    figures = {option.settings["name"]: option.figures for option in found.not_protective}
    assert figures["privee-u"].mean_l1_moved > 2
    assert figures["privee-u"].left_after_inverse < 0.05
    assert figures["temperature"].left_after_inverse < 1e-9


def test_measured_evidence_agrees_with_an_audit(subject, measured):
    assert measured.tried == "measured"
    assert measured.chosen.figures.mean_l1_moved <= 0.35
    options = (measured.chosen, *measured.alternatives, *measured.not_protective)
    grid = Grid(
        defenses=tuple(option.defense for option in options),
        attacks=EFFORT.attacks,
        seeds=(0, 1),
        records=30,
        auxiliary_rows=60,
        queries=2,
    )
    audit = run_grid([subject], grid, jobs=1)
    for option in options:
        card = audit.card(option.defense)
        assert option.figures.mean_l1_moved == pytest.approx(card.mean_l1_moved)
        assert option.figures.top_score_error == pytest.approx(card.top_score_error)
        assert option.figures.ranking_kept == pytest.approx(card.ranking_kept)
        assert option.attacked.headline.attack == card.headline.attack
        assert option.attacked.headline.error.mean == pytest.approx(card.headline.error.mean)
        assert option.attacked.guess_normalised == pytest.approx(card.guess_normalised)
        assert option.attacked.attainable_protection == pytest.approx(card.attainable_protection)
        assert option.attacked.verdict == card.verdict


def test_what_protects_nothing_is_shown_to(measured):
    """A logistic model with fewer unknown columns than classes: undefended scores give everything away."""
    errors = {o.settings["name"]: o.attacked.headline.error.mean for o in measured.not_protective}
    assert errors["none"] < 1e-9
    assert errors["temperature"] < 1e-9
    assert measured.chosen.attacked.headline.error.mean > 10 * max(errors.values())
    for option in measured.not_protective:
        assert f"{option.attacked.guess_normalised:.0%} of the best guess's error" in option.why
    assert "one seed" not in " ".join(measured.notes).lower()


def test_tail_and_prior_are_learned_from_rows_that_are_not_attacked(subject, one_pool, measured):
    public = model(one_pool.columns[80:, :ACTIVE], one_pool.columns[80:, ACTIVE:])
    ground, same = model_ground(subject, EFFORT)
    assert same is subject
    assert ground.public.shape == public.shape
    fitted = privee.OrderedDP.fitted(measured.chosen.epsilon, ground.public)
    assert privee.defense(measured.chosen.defense) == fitted
    ground, rest = model_ground(one_pool, EFFORT)
    assert set(rest.targets) == set(rest.auxiliary) == set(range(ROWS)) - set(range(0, ROWS, 4))
    assert len(ground.public) == ROWS // 4
    few = dataclasses.replace(subject, auxiliary=np.arange(80, 86))
    assert model_ground(few, EFFORT)[0].public is None


def test_no_attack_is_not_taken_for_a_failed_attack(subject):
    effort = dataclasses.replace(EFFORT, attacks=("prior-informed",), seeds=1)  # needs gradients; the model has none
    found = recommend(Wishes(), subject=subject, effort=effort)
    assert found.chosen.attacked is None
    assert any("No attack could run" in note for note in found.notes)


def test_json_round_trip(measured):
    plain = measured.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert privee.defense(**plain["chosen"]["settings"]).spec == plain["chosen"]["defense"] == measured.chosen.defense
    assert Wishes(**plain["wishes"]) == measured.wishes
    assert plain["chosen"]["attacked"]["headline"]["error"]["mean"] == measured.chosen.attacked.headline.error.mean
    assert [option["defense"] for option in plain["not_protective"]] == [defense.spec for defense in not_protective()]

"""Chosen columns, the attack: what a few exact orders give away, and that it claims no more."""

import dataclasses
import json

import numpy as np
import pytest
import torch

import privee
from privee.attacks import AttackerView, Auxiliary, ChosenColumns, Watch, WhiteBox, attack, white_box_of
from privee.attacks.chosen.belief import prior_of
from privee.attacks.chosen.chosen_columns import belief_of
from privee.attacks.chosen.particles import Particles
from privee.attacks.chosen.straight import Additive, Logistic
from privee.audit.subject import Subject
from privee.data.datasets import load_dataset
from privee.data.partition import split_columns
from privee.vfl import JointModel, TrainingSettings, make_models, train
from privee.vfl.joint_data import from_dataset
from tests._support.asked_records import AskedRecords, small_records


def play(records: AskedRecords, spec: str, seed: int = 0, **settings) -> list[float]:
    """Errors after 0, 1, 2 ... questions."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return records.errors(ChosenColumns(**settings).after_each(records.view(spec)))


# --- the bar: digits, 8 of 64 columns unknown ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def digits(case) -> AskedRecords:
    return AskedRecords(case.model, case.own[:40], case.truth[:40], case.auxiliary)


def test_a_few_exact_rankings_of_a_logistic_model_give_all_away(digits):
    errors = play(digits, "ranking-only", questions=5)
    assert errors[0] > 0.008
    assert errors[2] <= 0.010 / 5
    assert errors[5] <= 0.0005


@pytest.mark.parametrize("spec", ["ordered-dp:epsilon=0.001", "ordered-dp:epsilon=16", "privee-u:rho=0.1"])
def test_whatever_the_magnitudes(digits, spec):
    errors = play(digits, spec, questions=5)
    assert errors[2] <= 0.010 / 5
    assert errors[5] <= 0.0005


def test_labels_fall_too_only_slower(digits):
    errors = play(digits, "label-only", questions=6)
    assert errors[6] < 0.4 * errors[0]
    assert errors[2] > 0.010 / 5  # where rankings are past the bar


def test_two_networks_fall_within_ten_questions():
    partition = split_columns(64, adversary_fraction=56 / 64, how="random", seed=1)
    data = from_dataset(load_dataset("digits"), partition)
    joint = JointModel(data.columns, data.labels, *make_models("mlp", data.shapes, 10, 0))
    settings = TrainingSettings(epochs=15, batch_size=32, learning_rate=3e-3)
    train(joint.coordinator, joint.learners, torch.from_numpy(data.train), settings)
    own, unknown = (torch.from_numpy(x).double() for x in data.columns.values())
    known = Auxiliary(own[data.train[:500]], unknown[data.train[:500]])
    test = data.test[:30]
    errors = play(AskedRecords(white_box_of(joint), own[test], unknown[test], known), "ranking-only", questions=7)
    assert errors[7] < errors[0] / 2
    assert errors[7] < errors[2] < errors[0]


# --- any model ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "belief"), [("logistic", Logistic), ("additive", Additive), ("bent", Particles), ("numpy", Particles)]
)
def test_every_model_is_attacked_as_sharply_as_it_allows(kind, belief):
    records = small_records(kind)
    view = records.view("ranking-only")
    made = belief_of(view, prior_of(view), view.model.differentiable, torch.Generator().manual_seed(0))
    assert isinstance(made, belief)
    errors = play(records, "ranking-only", questions=4)
    assert errors[4] < 0.6 * errors[0]
    assert errors[4] < errors[1] < errors[0]


def test_three_parties_and_a_deeper_top_are_attacked_too():
    random = torch.Generator().manual_seed(1)
    columns = {name: torch.rand(224, 3, generator=random) for name in ("active", "shop", "clinic")}
    labels = (columns["shop"][:, 0] > 0.5).long() + (columns["active"][:, 0] > 0.5).long()
    shapes = dict.fromkeys(columns, (3,))
    arrays = {name: values.numpy() for name, values in columns.items()}
    joint = JointModel(arrays, labels.numpy(), *make_models("mlp", shapes, 3, 0))
    settings = TrainingSettings(epochs=20, batch_size=32, learning_rate=1e-2)
    train(joint.coordinator, joint.learners, torch.arange(200), settings)
    own, unknown = columns["active"].double(), torch.cat([columns["shop"], columns["clinic"]], dim=1).double()
    known = Auxiliary(own[:119], unknown[:119])  # too few to rehearse on, for speed
    records = AskedRecords(white_box_of(joint), own[200:], unknown[200:], known)
    errors = play(records, "ranking-only", questions=3)
    assert errors[3] < 0.9 * errors[0]  # one of six columns is what the model looks at


# --- claims no more than it finds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "spec"), [("logistic", "gaussian:epsilon=0.5"), ("blind", "none")])
def test_where_nothing_is_told_it_is_no_worse_than_the_guess(kind, spec):
    """Over three worlds; what it may lose by chance is below 5 %."""
    errors = np.mean([play(small_records(kind, seed=seed), spec, seed, questions=3) for seed in range(1, 4)], axis=0)
    assert (errors[1:] < 1.05 * errors[0]).all()


def test_the_oracle_is_asked_as_often_as_said_in_the_box_and_never_shown_the_truth():
    records = small_records()
    view = records.view("ranking-only")
    found = ChosenColumns(questions=3).run(view)
    assert found.unknown.shape == records.truth.shape
    assert len(records.asked) == 3
    for own in records.asked:
        assert own.shape == records.own.shape
        assert ((own >= 0) & (own <= 1)).all()
    true_rows = {tuple(row) for row in records.truth.tolist()}
    assert not true_rows & {tuple(row) for own in records.asked for row in own[:, :3].tolist()}


def test_rows_that_are_allowed_are_the_only_ones_asked_with():
    records = small_records()
    errors = play(records, "ranking-only", questions=4, allowed="rows")
    real = {tuple(row) for row in records.auxiliary.own.tolist()}
    assert {tuple(row) for own in records.asked for row in own.tolist()} <= real
    assert errors[4] < 0.8 * errors[0]


@pytest.mark.parametrize("kind", ["logistic", "bent"])
def test_the_same_seed_gives_the_same_and_an_interruption_changes_nothing(kind, tmp_path):
    records, chosen = small_records(kind, rows=8, auxiliary=130), ChosenColumns(questions=3)
    whole = chosen.run(records.view("ranking-only"), seed=3).unknown
    assert torch.equal(chosen.run(records.view("ranking-only"), seed=3).unknown, whole)
    for stop in (1, 3):
        view = records.view("ranking-only")

        def interrupt(done: int, of: int, stop: int = stop) -> None:
            if done == stop:
                raise KeyboardInterrupt

        folder = tmp_path / str(stop)
        with pytest.raises(KeyboardInterrupt):
            chosen.run(view, seed=3, watch=Watch(interrupt, folder, every=0))
        assert torch.equal(chosen.run(view, seed=3, watch=Watch(folder=folder, every=0)).unknown, whole)
        assert len(records.asked) == 3  # what was answered before is not asked again


# --- roles swapped --------------------------------------------------------------------------------------------------


def test_the_passive_side_learns_the_active_partys_columns():
    """Who holds 3 columns and the model asks about the other 6 of a logistic model with 4 classes."""
    records = small_records()
    known = records.auxiliary
    swapped = AskedRecords(records.model.swapped(), records.truth, records.own, Auxiliary(known.unknown, known.own))
    errors = play(swapped, "none", questions=1)
    assert errors[1] < 0.75 * errors[0]  # 3 of 6 directions are all that scores tell
    ranked = play(swapped, "ranking-only", questions=5)
    assert ranked[5] < 0.9 * ranked[0]


def test_swapping_changes_sides_and_no_score():
    records = small_records()
    model = records.model
    there, back = model.swapped(), model.swapped().swapped()
    scores = model.scores(records.own, records.truth)
    assert torch.equal(there.scores(records.truth, records.own), scores)
    assert torch.equal(back.scores(records.own, records.truth), scores)
    assert torch.equal(back.linear, model.linear)
    assert torch.equal(there.linear, model.own_linear)
    assert torch.equal(there.own_linear, model.linear)
    assert (there.own_columns, there.unknown_columns) == (3, 6)
    rows = np.arange(30)
    columns = torch.cat([records.own, records.truth], dim=1).numpy()
    subject = Subject("made", "logistic", model, columns, rows, rows)
    twice = subject.swapped().swapped()
    assert np.array_equal(twice.columns, subject.columns)
    assert np.array_equal(twice.sample(0, 5, 5).scores, subject.sample(0, 5, 5).scores)
    assert np.array_equal(subject.swapped().sample(0, 5, 5).scores, subject.sample(0, 5, 5).scores)
    assert torch.equal(subject.swapped().sample(0, 5, 5).truth, subject.sample(0, 5, 5).own)


# --- settings and what may go wrong ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"questions": 0}, "questions must be 1 or more, got 0"),
        ({"questions": True}, "questions must be 1 or more"),
        ({"questions": 2.5}, "questions must be 1 or more"),
        ({"allowed": "all"}, "allowed must be 'box' or 'rows', got 'all'"),
    ],
)
def test_bad_settings_are_refused_in_one_line(settings, says):
    with pytest.raises(privee.SettingError, match=says) as refused:
        ChosenColumns(**settings)
    assert "\n" not in str(refused.value)


def test_settings_go_through_json():
    chosen = ChosenColumns(questions=7, allowed="rows")
    assert attack(**json.loads(json.dumps(chosen.settings()))) == chosen
    assert attack("chosen-columns:questions=7,allowed=rows") == chosen


def test_it_says_why_it_makes_no_sense():
    records = small_records(auxiliary=0)
    view = records.view("none")
    assert ChosenColumns().why_not(view) is None
    assert ChosenColumns(allowed="rows").why_not(view) == "needs auxiliary rows to ask with"
    silent = dataclasses.replace(view, oracle=None)
    assert ChosenColumns().why_not(silent) == "needs to ask with own columns of its choice"
    with pytest.raises(privee.PriveeError, match="needs an oracle"):
        ChosenColumns().after_each(silent)


def test_an_answer_about_other_records_is_refused():
    records = small_records()
    view = dataclasses.replace(records.view("none"), oracle=lambda own: torch.full((2, 4), 0.25).double())
    with pytest.raises(privee.PriveeError, match=r"the oracle gave \(2, 4\) for 30 records"):
        ChosenColumns().run(view)


def test_without_auxiliary_rows_two_classes_fall_as_well():
    """A model of two classes and one private column: every question is a bit of it."""
    random = torch.Generator().manual_seed(1)
    weights = torch.tensor([[0.0, 0.0], [4.0, 3.0]]).double()
    model = WhiteBox(
        lambda own, unknown: torch.cat([own, unknown], dim=1) @ weights.T - torch.tensor([0.0, 3.5]).double(),
        own_columns=1,
        unknown_columns=1,
        n_classes=2,
        weights=weights,
    )
    own, truth = (torch.rand(20, 1, generator=random, dtype=torch.float64) for _ in range(2))
    records = AskedRecords(model, own, truth, None)
    assert isinstance(records.view("label-only"), AttackerView)
    errors = play(records, "label-only", questions=6)
    assert errors[6] < 0.01 * errors[0]

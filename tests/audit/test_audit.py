"""Audits: numbers over seeds, resumable, the same however they are run, on anybody's model."""

import json
import sys

import numpy as np
import pytest
import torch

from privee.audit import (
    Grid,
    audit,
    run_grid,
    subject_from_arrays,
    subject_from_entry,
)
from privee.errors import PriveeError
from tests._support.own_models import ACTIVE, CLASSES, PASSIVE, QUICK, WEIGHTS, columns, numpy_logits, numpy_model


def torch_model(active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
    both = torch.cat([(active + 3) / 50, passive / 7], dim=1)
    return torch.softmax(torch.tanh(both @ torch.from_numpy(WEIGHTS)) * 3, dim=1)


def test_a_numpy_model_with_columns_in_any_range():
    found = audit(numpy_model, *columns(), defenses=["none", "ranking-only"], **QUICK)
    card = found.card("none")
    assert card.headline.attack == "equation-solving"
    assert card.headline.error.mean < 1e-6
    assert (card.grade, found.subjects[0].model) == ("open", "logistic")
    assert found.card("ranking-only").headline.error.mean > 1000 * card.headline.error.mean
    assert found.card("ranking-only").attainable_protection == 1.0


def test_gradients_are_used_where_there_are_any_and_the_reason_is_given_where_not():
    settings = QUICK | {"attacks": ["gradient-inversion:iterations=100", "equation-solving"]}
    smooth = audit(torch_model, *columns(), defenses=["none"], **settings).card("none")
    assert smooth.adaptive.attack == "gradient-inversion:iterations=100"
    assert smooth.skipped["equation-solving (naive)"] == "needs a logistic model"
    opaque = audit(numpy_model, *columns(), defenses=["none"], **settings).card("none")
    assert opaque.skipped["gradient-inversion:iterations=100 (adaptive)"] == "the model is not differentiable"
    assert opaque.adaptive.attack == "equation-solving"


def test_a_torch_module_and_logits_do_as_well():
    layer = torch.nn.Linear(ACTIVE + PASSIVE, CLASSES)

    class Joint(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.cat([active / 50, passive / 7], dim=1))

    found = audit(Joint(), *columns(), outputs="logits", defenses=["none"], **QUICK)
    assert found.card("none").headline.error.mean < 1e-6
    assert layer.weight.dtype == torch.float32  # the user's own module is left alone
    assert layer.weight.requires_grad


def shape_shifter(active, passive):
    scores = numpy_model(active, passive)
    return scores if len(scores) != 40 else scores[:, :3] / scores[:, :3].sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("model", "more", "says"),
    [
        (lambda a, p: numpy_model(a, p) * np.nan, {}, "scores that are not finite"),
        (lambda a, p: numpy_logits(a, p) * np.nan, {"outputs": "logits"}, "not finite"),
        (numpy_logits, {}, "outputs='logits'"),
        (lambda a, p: numpy_model(a, p)[:, :1], {}, "(rows, classes)"),
        (lambda a, p: numpy_model(a, p)[:-1], {}, "(rows, classes)"),
        (lambda a, p: 1 / 0, {}, "could not be called: ZeroDivisionError"),
        ("words", {}, "must be a function"),
        (shape_shifter, {}, "expected 6 classes"),
        (numpy_model, {"labels": [1, 2]}, "labels must be 160 class numbers"),
        (numpy_model, {"outputs": "votes"}, "outputs must be"),
        (numpy_model, {"defenses": []}, "at least one defense"),
        (numpy_model, {"defenses": ["nonsense"]}, "no defense is called"),
        (numpy_model, {"attacks": ["nonsense"]}, "no attack is called"),
        (numpy_model, {"records": 0}, "records must be 1 or more"),
        (numpy_model, {"jobs": 0}, "jobs must be 1 or more"),
        (numpy_model, {"engine": "steam"}, "no engine is called 'steam'"),
    ],
)
def test_what_cannot_be_audited_is_named_in_one_line(model, more, says):
    with pytest.raises(PriveeError) as caught:
        audit(model, *columns(), **(QUICK | {"defenses": ["none"]} | more))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("active", "passive", "says"),
    [
        (np.ones((5, 2)), np.ones((6, 2)), "align them"),
        (np.ones((5, 2)), np.ones(5), "passive_columns must be a (rows, columns) array"),
        (np.array([["a"]] * 5), np.ones((5, 2)), "active_columns must be"),
        (np.full((5, 2), np.inf), np.ones((5, 2)), "active_columns holds values that are not finite"),
        (np.ones((3, 2)), np.ones((3, 2)), "too few"),
    ],
)
def test_bad_columns_are_named(active, passive, says):
    with pytest.raises(PriveeError, match=says.replace("(", r"\(").replace(")", r"\)")):
        subject_from_arrays(numpy_model, active, passive)


def test_entry_points(tmp_path, monkeypatch):
    (tmp_path / "own_entry.py").write_text(
        "import numpy as np\nfrom scipy.special import softmax\n"
        "def parts():\n    x = np.random.default_rng(0).random((50, 4))\n"
        "    return lambda a, p: softmax(np.hstack([a, p]), axis=1), x[:, :2], x[:, 2:]\n"
        "def wrong():\n    return 5\n"
    )
    monkeypatch.chdir(tmp_path)
    subject = subject_from_entry("own_entry:parts")
    assert (subject.name, subject.model.own_columns, subject.model.n_classes) == ("own_entry:parts", 2, 4)
    assert str(tmp_path) not in sys.path
    for entry, says in (
        ("own_entry", "module:function"),
        ("own_entry:absent", "has no function absent"),
        ("no_such_module:parts", "no module 'no_such_module'"),
        ("own_entry:wrong", "must return"),
    ):
        with pytest.raises(PriveeError, match=says):
            subject_from_entry(entry)


def square_roots(active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
    """No number where columns are negative, which they never are in the data."""
    return torch.softmax(torch.sqrt(torch.cat([active + 3, passive], dim=1)) @ torch.from_numpy(WEIGHTS), dim=1)


def test_an_attack_that_leads_a_model_where_it_has_no_numbers_fails_alone():
    settings = QUICK | {"attacks": ["grna-paper", "learned-inversion:simulations=1"]}
    active, passive = columns()
    found = audit(square_roots, active - active.min() - 3, passive - passive.min(), defenses=["none"], **settings)
    card = found.card("none")
    assert card.adaptive.attack == "learned-inversion:simulations=1"
    assert "grna-paper (adaptive): the model gave scores that are not finite numbers" in card.failed


# Samples


def test_attacked_records_are_never_known_in_advance():
    subject = subject_from_arrays(numpy_model, *columns())
    first, again, other = (subject.sample(seed, 60, 100) for seed in (0, 0, 1))
    rows = {row.tobytes() for row in first.truth.numpy()}
    assert len(rows) == 60
    assert rows.isdisjoint(row.tobytes() for row in first.auxiliary.unknown.numpy())
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert len(subject.sample(0, 10_000, 10_000).truth) == 80  # half of the rows stay for the attacker


def test_an_attacker_with_more_or_fewer_columns_of_the_same_model():
    subject = subject_from_arrays(numpy_model, *columns())
    wider = subject.at_fraction(0.75)
    assert (wider.model.own_columns, wider.model.unknown_columns) == (6, 2)
    np.testing.assert_allclose(wider.sample(0, 9, 9).scores, subject.sample(0, 9, 9).scores, atol=1e-12)
    grid = Grid(defenses=("none",), attacks=("equation-solving",), records=30, seeds=(0,))
    found = run_grid([subject.at_fraction(f) for f in (0.4, 0.75)], grid, jobs=1)
    assert [card.headline.error.mean < 1e-6 for card in found.cards] == [True, True]
    for fraction in (0.0, 1.0, 2.0):
        with pytest.raises(PriveeError, match="adversary fraction"):
            subject.at_fraction(fraction)


def test_guesses_of_constant_columns_are_exact_and_nothing_breaks():
    active, passive = columns()
    found = audit(numpy_model, active, np.ones_like(passive), defenses=["none"], **QUICK)
    assert found.card("none").guess.error.mean < 1e-12
    json.dumps(found.as_dict(), allow_nan=False)

"""Beliefs about models whose logits add up, and which models those are."""

import pytest
import torch

from privee.attacks import white_box_of
from privee.attacks.chosen.answers import answer_of
from privee.attacks.chosen.belief import prior_of
from privee.attacks.chosen.straight import Additive, Logistic, is_additive
from privee.vfl import JointModel, make_models
from tests._support.asked_records import small_records


def mlp(parties: int):
    """Untrained, but weights are drawn: whether logits add up does not depend on them."""
    random = torch.Generator().manual_seed(1)
    columns = {f"p{k}": torch.rand(6, 3, generator=random).numpy() for k in range(parties)}
    shapes = dict.fromkeys(columns, (3,))
    return white_box_of(JointModel(columns, torch.zeros(6, dtype=int).numpy(), *make_models("mlp", shapes, 4, 0)))


def probes(own: int, unknown: int) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(2)
    return tuple(torch.rand(8, size, generator=random, dtype=torch.float64) for size in (own, unknown))


def test_two_networks_and_one_dense_layer_add_up_and_a_deeper_top_does_not():
    assert is_additive(mlp(2), *probes(3, 3))
    assert not is_additive(mlp(3), *probes(3, 6))


@pytest.mark.parametrize(("kind", "adds_up"), [("logistic", True), ("additive", True), ("bent", False)])
def test_whether_logits_add_up_is_tried_out(kind, adds_up):
    assert is_additive(small_records(kind).model, *probes(6, 3)) is adds_up


def answered(belief, records, spec: str, questions: int) -> list[float]:
    """Error before and after honest questions with other records' own columns."""
    view, random = records.view(spec), torch.Generator().manual_seed(4)
    errors = [float((belief.expected() - records.truth).square().mean())]
    for step in range(questions):
        own = records.own.roll(step, dims=0)
        believed = belief.logits(own, belief.points(200, random)).detach()
        answer = answer_of(view, own, view.oracle(own), believed, step, belief.limits)
        belief.learn(answer, random)
        errors.append(float((belief.expected() - records.truth).square().mean()))
    return errors


@pytest.mark.parametrize("kind", ["logistic", "additive"])
def test_answers_bring_the_estimate_closer(kind):
    records = small_records(kind)
    view = records.view("none")
    prior = prior_of(view)
    belief = Logistic(records.model, prior) if kind == "logistic" else additive(view, prior)
    ranked = answered(belief, records, "ranking-only", 6)
    assert ranked[-1] < 0.75 * ranked[0]
    belief = Logistic(records.model, prior) if kind == "logistic" else additive(view, prior)
    exact = answered(belief, records, "none", 1)
    assert exact[1] < 1e-3 * exact[0]


def additive(view, prior) -> Additive:
    return Additive(view, prior, torch.Generator().manual_seed(1))


def test_parts_are_what_private_columns_add_to_the_logits():
    records = small_records("additive")
    view = records.view("none")
    belief = additive(view, prior_of(view))
    own = records.own.flip(0)
    points = belief.points(3, torch.Generator().manual_seed(1))
    change = belief.logits(own, points) - belief.logits(records.own, points)
    model = records.model.logits(own, records.truth) - records.model.logits(records.own, records.truth)
    assert torch.allclose(change, model[:, None].expand_as(change), atol=1e-6)


def test_without_auxiliary_rows_anything_in_the_box_is_possible():
    records = small_records("logistic", auxiliary=0)
    prior = prior_of(records.view("none"))
    assert (prior.guess == 0.5).all()
    assert torch.allclose(prior.mapping @ prior.mapping.T, torch.eye(3).double() / 12)
    belief = Logistic(records.model, prior)
    assert answered(belief, records, "none", 1)[1] < 1e-6

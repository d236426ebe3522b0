"""Particles: any model, also without gradients."""

import numpy as np
import pytest
import torch

from privee.attacks import ChosenColumns
from privee.attacks.chosen.answers import answer_of
from privee.attacks.chosen.belief import prior_of
from privee.attacks.chosen.particles import PARTICLES, Particles
from privee.attacks.metrics import feature_mse
from privee.audit import subject_from_arrays
from privee.audit.task import simulated
from privee.defenses import defense
from tests._support.asked_records import small_records


def learned(kind: str, spec: str, questions: int) -> tuple[Particles, list[float]]:
    records = small_records(kind)
    view, random = records.view(spec), torch.Generator().manual_seed(4)
    belief = Particles(records.model, prior_of(view), random)
    errors = [float((belief.expected() - records.truth).square().mean())]
    for step in range(questions):
        own = records.own.roll(step, dims=0)
        with torch.no_grad():
            believed = belief.logits(own, belief.points(200, random))
        belief.learn(answer_of(view, own, view.oracle(own), believed, step, belief.limits), random)
        errors.append(float((belief.expected() - records.truth).square().mean()))
    return belief, errors


@pytest.mark.parametrize("kind", ["bent", "numpy"])
def test_answers_bring_them_closer(kind):
    ranked, exact = learned(kind, "ranking-only", 5)[1], learned(kind, "none", 2)[1]
    assert ranked[-1] < 0.8 * ranked[0]
    assert exact[-1] < 0.2 * exact[0]


def test_they_explain_what_was_answered():
    """Before any answer half of all particles contradict a pair or more; after it few of the pairs are."""
    records = small_records("bent")
    view, random = records.view("ranking-only"), torch.Generator().manual_seed(4)
    belief = Particles(records.model, prior_of(view), random)
    with torch.no_grad():
        believed = belief.logits(records.own, belief.points(200, random))
        answer = answer_of(view, records.own, view.oracle(records.own), believed, 0, belief.limits)
        wrong = [_contradicting(belief, answer)]
        belief.learn(answer, random)
        wrong.append(_contradicting(belief, answer))
    assert wrong[1] < wrong[0] / 2


def _contradicting(belief: Particles, answer) -> float:
    points = belief.points(PARTICLES, torch.Generator().manual_seed(1))
    gaps = answer.gaps(belief.logits(answer.own, points))
    return float((gaps < 0)[answer.shown[:, None].expand_as(gaps)].double().mean())


def test_more_points_than_particles_spread_as_they_do():
    """Points between two particles: same mean and spread, to a fifth (100 x more than chance allows)."""
    belief, _ = learned("bent", "ranking-only", 1)
    few, many = (belief.points(count, torch.Generator().manual_seed(1)) for count in (PARTICLES, 4000))
    assert torch.allclose(few.mean(dim=1), many.mean(dim=1), atol=0.05)
    assert (many.std(dim=1) / few.std(dim=1)).mean() == pytest.approx(1.0, abs=0.2)


def test_columns_stay_near_the_box():
    belief, _ = learned("bent", "none", 2)
    points = belief.points(PARTICLES, torch.Generator().manual_seed(1))
    assert points.min() > -0.2
    assert points.max() < 1.2


def test_exact_answers_of_a_model_that_does_not_add_up_go_on_telling():
    """A first exact answer must not hold particles where they happen to be: each further one tells more."""
    rng = np.random.default_rng(0)
    own, private = rng.random((700, 6)), rng.random((700, 5))
    first, last = (torch.from_numpy(rng.normal(size=shape)) for shape in ((11, 24), (24, 6)))

    def model(active, passive):
        return torch.tanh(1.5 * (torch.cat([active, passive], dim=1) - 0.5) @ first) @ last

    sample = subject_from_arrays(model, own, private, outputs="logits").sample(0, 40, 500)
    exact = defense("none")
    view = sample.view(simulated(sample, exact, 0, 1), exact, adaptive=True, oracle=sample.oracle(exact, 0))
    after = [feature_mse(one, sample.truth) for one in ChosenColumns(questions=5).after_each(view)]
    assert after[5] < 0.1 * after[0]
    assert after[5] < after[2] / 2

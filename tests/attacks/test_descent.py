"""Adam on columns: the steps that torch's takes, and slopes that are those of what is minimised."""

import dataclasses
import math

import pytest
import torch

from privee.attacks import attack as make_attack
from privee.attacks.chosen.belief import prior_of
from privee.attacks.chosen.straight import MEMBERS, OUTSIDE, Additive
from privee.attacks.descent import adam, descend, score_slopes, slopes_of
from privee.attacks.log_scores import centred
from privee.attacks.most_likely import Problem
from privee.attacks.watch import Watch
from tests._support.asked_records import small_records

RANDOM = torch.Generator().manual_seed(0)


def drawn(*shape: int) -> torch.Tensor:
    return torch.rand(shape, generator=RANDOM, dtype=torch.float64)


def by_torch(start: torch.Tensor, loss, steps: int, rate: float) -> torch.Tensor:
    values = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([values], lr=rate)
    for _ in range(steps):
        optimizer.zero_grad()
        loss(values).backward()
        optimizer.step()
    return values.detach()


def test_steps_are_those_of_torch():
    start, wanted = drawn(7, 3), drawn(7, 3)

    def loss(values: torch.Tensor) -> torch.Tensor:
        return (values.sin() - wanted).square().sum()

    values, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    for count in range(1, 60):
        asked = values.clone().requires_grad_()
        adam(values, torch.autograd.grad(loss(asked), asked)[0], first, second, 0.05, count)
    torch.testing.assert_close(values, by_torch(start, loss, 59, 0.05), rtol=0, atol=1e-10)


@pytest.mark.parametrize("per_batch", [False, True])
def test_parts_step_together_or_one_by_one(per_batch):
    """In parts, an epoch is one step of all; a step after each part moves the others on as well, as Adam does."""
    start, wanted = drawn(5, 2), drawn(5, 2)
    slopes = slopes_of(lambda part, unknown: (unknown - wanted[part]).square().sum())
    settings = {"stage": "columns", "epochs": 30, "learning_rate": 0.02, "batch_size": 2}
    found = descend(start, slopes, Watch(), step_per_batch=per_batch, **settings)
    values = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([values], lr=0.02)
    for step in range(30 * 3):
        part = slice(2 * (step % 3), 2 * (step % 3) + 2)
        if per_batch or step % 3 == 0:
            values.grad = torch.zeros_like(start)
        values.grad[part] = 2 * (values.detach() - wanted)[part]
        if per_batch or step % 3 == 2:
            optimizer.step()
    torch.testing.assert_close(found, values.detach(), rtol=0, atol=1e-10)


def test_slopes_of_matched_scores():
    logits, target = 4 * drawn(6, 5) - 2, drawn(6, 5)
    asked = logits.clone().requires_grad_()
    (torch.softmax(asked, dim=1) - target).square().sum().backward()
    torch.testing.assert_close(score_slopes(logits, target), asked.grad)


@pytest.mark.parametrize("loss", ["log-score", "probability"])
def test_slopes_of_gradient_inversion(loss):
    logits, wanted = 4 * drawn(6, 5) - 2, centred(drawn(6, 5))
    asked = logits.clone().requires_grad_()
    shown = centred(asked) if loss == "log-score" else torch.softmax(asked, dim=1)
    (shown - wanted).square().mean(dim=1).sum().backward()
    pull = make_attack("gradient-inversion", loss=loss)._pull
    torch.testing.assert_close(pull(logits, wanted), asked.grad)


def test_slopes_of_the_most_likely_columns(monkeypatch):
    """Also where a score is below the smallest that counts, and so pulls nowhere."""
    view = dataclasses.replace(small_records("additive").view("none"), adaptive=False)
    problem = Problem(view, view.auxiliary, 10, 0.02, Watch())
    problem._smallest, caught = 0.2, []
    monkeypatch.setattr(
        "privee.attacks.most_likely.descend", lambda start, slopes, *_, **__: caught.append(slopes) or start
    )
    start, target = drawn(view.rows, view.model.unknown_columns), view.target
    problem.solve("columns", view.own, start, target, 0.3)
    asked = drawn(*start.shape).requires_grad_()
    logs = torch.log_softmax(view.model.logits(view.own, asked), dim=1).clamp_min(math.log(0.2))
    assert 0 < (logs == math.log(0.2)).double().mean() < 1
    off = asked - start
    match = (0.3 / 1e-2 * (logs - target.clamp_min(0.2).log()).square()).sum()
    (match + ((off @ problem._precision) * off).sum()).backward()
    torch.testing.assert_close(caught[0](slice(None), asked), asked.grad, rtol=1e-5, atol=1e-6)


def test_slopes_of_columns_that_explain_a_part():
    records = small_records("additive")
    view = records.view("none")
    belief = Additive(view, prior_of(view), torch.Generator().manual_seed(3))
    rows, directions = MEMBERS * view.rows, belief._prior.directions
    wanted, known = drawn(rows, belief._parts_prior.directions), drawn(rows, directions)
    belief._y.covariance = belief._y.covariance * torch.linspace(0.1, 2.0, view.rows)[:, None, None]
    y = (4 * drawn(rows, directions) - 2).requires_grad_()
    columns, part = belief._columns(y), belief._part(belief._columns(y))
    back = torch.linalg.pinv(belief._parts_prior.mapping).T
    off = (part - belief._parts_prior.guess.repeat_interleave(MEMBERS, dim=0)) @ back - wanted
    spread = belief._y.covariance + 0.3**2 * torch.eye(off.shape[1])
    off = off.reshape(view.rows, MEMBERS, -1)
    missed = (off @ torch.linalg.inv(spread) * off).sum() + (y - known).square().sum()
    assert (columns != columns.clamp(0.0, 1.0)).any()
    (missed + ((columns - columns.clamp(0.0, 1.0)) / OUTSIDE).square().sum()).backward()
    found = belief._slopes_of_explaining(wanted, known)(y.detach(), 0.3)
    torch.testing.assert_close(found, y.grad, rtol=1e-6, atol=1e-6)

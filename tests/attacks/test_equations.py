"""Equations of logistic models: where more columns are unknown than equations tell, it matters where one starts."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy.optimize import linprog

import privee
from privee.attacks import AttackerView, Auxiliary, ChebyshevCentre, EquationSolving, WhiteBox
from privee.attacks.largest_ball import in_slabs, largest_ball, on_planes
from privee.attacks.metrics import feature_mse

OWN, UNKNOWN, CLASSES = 4, 9, 5
U = "privee-u:rho=0.1"


class Logistic:
    """Nine unknown columns, four equations."""

    def __init__(self) -> None:
        draws = torch.Generator().manual_seed(3)
        self.weights = 2 * torch.randn(CLASSES, OWN + UNKNOWN, generator=draws, dtype=torch.float64)
        self.rows = torch.rand(300, OWN + UNKNOWN, generator=draws, dtype=torch.float64)
        self.model = WhiteBox(
            lambda own, unknown: torch.cat([own, unknown], dim=1) @ self.weights.T,
            own_columns=OWN,
            unknown_columns=UNKNOWN,
            n_classes=CLASSES,
            weights=self.weights,
        )
        self.own, self.truth = self.rows[:100, :OWN], self.rows[:100, OWN:]

    def view(self, spec: str, *, adaptive: bool = True, auxiliary: bool = False) -> AttackerView:
        defense = privee.defense(spec)
        scores = self.model.scores(self.own, self.truth).numpy()
        release = torch.from_numpy(defense.release(scores, draws=privee.seeded(0)))
        rows = Auxiliary(self.rows[100:, :OWN], self.rows[100:, OWN:]) if auxiliary else None
        return AttackerView(self.own, self.model, release[None], defense, adaptive, rows)


@pytest.fixture(scope="module")
def wide() -> Logistic:
    return Logistic()


def missed(attack, view, truth) -> float:
    return feature_mse(attack.run(view).unknown, truth)


# --- where equations start -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("start", "at"), [("zero", 0.0), ("half", 0.5)])
def test_the_solution_is_the_one_nearest_to_the_start(wide, start, at):
    """A and b by hand: classes against the last one, and the pseudo-inverse formula as it was published."""
    view = wide.view("none")
    logs = view.releases[0].log().numpy()
    slopes = (wide.weights[:-1] - wide.weights[-1]).numpy()
    a, b = slopes[:, OWN:], logs[:, :-1] - logs[:, -1:] - wide.own.numpy() @ slopes[:, :OWN].T
    expected = at + (b - a.sum(axis=1) * at) @ np.linalg.pinv(a).T
    found = EquationSolving(start=start).run(view).unknown
    np.testing.assert_allclose(found.numpy(), expected.clip(0, 1), atol=1e-8)


def test_the_middle_is_a_better_start_and_a_centre_no_worse_than_zero(wide):
    zero, half, centre = (
        missed(attack, wide.view("none"), wide.truth)
        for attack in (EquationSolving(), EquationSolving(start="half"), ChebyshevCentre())
    )
    assert half < 0.5 * zero
    assert centre < 0.5 * zero
    assert half < float((wide.truth - 0.5).square().mean())  # the release says something


def test_settings_are_checked():
    with pytest.raises(privee.SettingError, match="start must be 'zero' or 'half', got 'top'"):
        EquationSolving(start="top")
    for wrong in (0, 1, True, -0.5):
        with pytest.raises(privee.SettingError, match="sure must lie between 0 and 1"):
            ChebyshevCentre(sure=wrong)


# --- largest balls ---------------------------------------------------------------------------------------------------


def by_linear_program(rows, ends, weights, planes, values) -> float:
    """One record's radius, by a solver of somebody else's: rows @ x + weights * t <= ends."""
    width = rows.shape[1]
    equal = np.hstack([planes, np.zeros((len(planes), 1))]) if len(planes) else None
    found = linprog(
        np.r_[np.zeros(width), -1.0],
        A_ub=np.hstack([rows, weights[:, None]]),
        b_ub=ends,
        A_eq=equal,
        b_eq=values if len(planes) else None,
        bounds=(None, None),
    )
    return -found.fun


@pytest.mark.parametrize(("columns", "slabs"), [(3, 6), (8, 4), (30, 5), (140, 5), (300, 9)])
@pytest.mark.parametrize("contradict", [False, True])
def test_balls_in_slabs_are_as_large_as_can_be(columns, slabs, contradict):
    """Also where nothing fits: then the radius is negative, and the largest violation as small as can be."""
    draws = torch.Generator().manual_seed(columns)
    directions = torch.randn(12, slabs, columns, generator=draws, dtype=torch.float64)
    middle = (directions @ torch.rand(12, columns, 1, generator=draws, dtype=torch.float64))[..., 0]
    middle = middle + 400 * contradict
    low, high = (middle + sign * torch.rand(12, slabs, generator=draws, dtype=torch.float64) for sign in (-1, 1))
    centres, radii = largest_ball(in_slabs(directions, low, high))
    box, ones = np.eye(columns), np.ones(columns)
    for k in range(12):
        d = directions[k].numpy()
        sizes = np.linalg.norm(d, axis=1)
        ends = np.r_[0 * ones, ones, -low[k].numpy(), high[k].numpy()]
        radius = by_linear_program(np.vstack([-box, box, -d, d]), ends, np.r_[ones, ones, sizes, sizes], d[:0], None)
        assert float(radii[k]) == pytest.approx(radius, rel=1e-6, abs=1e-6)
        if not contradict:
            along = (directions[k] @ centres[k]).numpy()
            assert (along - sizes * radius >= low[k].numpy() - 1e-4).all()
            assert (along + sizes * radius <= high[k].numpy() + 1e-4).all()
    assert ((radii < 0) == contradict).all()


@pytest.mark.parametrize("off", [0.0, 9.0])
def test_balls_on_planes_are_as_large_as_can_be(off):
    draws = torch.Generator().manual_seed(1)
    planes = torch.linalg.qr(torch.randn(12, 4, generator=draws, dtype=torch.float64))[0].T
    values = torch.rand(20, 12, generator=draws, dtype=torch.float64) @ planes.T + off
    centres, radii = largest_ball(on_planes(planes, values))
    assert torch.allclose(centres @ planes.T, values, atol=1e-8)
    weights = (1 - planes.square().sum(dim=0)).sqrt().numpy()
    rows, ends = np.vstack([-np.eye(12), np.eye(12)]), np.r_[np.zeros(12), np.ones(12)]
    for k in range(20):
        radius = by_linear_program(rows, ends, np.r_[weights, weights], planes.numpy(), values[k].numpy())
        assert float(radii[k]) == pytest.approx(radius, rel=1e-6, abs=1e-6)


# --- the attack ------------------------------------------------------------------------------------------------------


def test_undefended_the_centre_explains_the_scores_and_lies_in_the_box(wide):
    found = ChebyshevCentre().run(wide.view("none"))
    assert found.residual < 1e-12
    assert ((found.unknown >= 0) & (found.unknown <= 1)).all()


def test_with_enough_equations_it_is_exact(case):
    assert case.error(ChebyshevCentre(), "none", adaptive=True) < 1e-9


@pytest.mark.parametrize("auxiliary", [False, True])
def test_knowing_the_defense_turns_equations_into_intervals(wide, auxiliary):
    """Behind PRIVEE-U a naive attacker's equations are wrong; half-way between [0, 1] and them lies the truth."""
    naive, adaptive = (
        missed(ChebyshevCentre(), wide.view(U, adaptive=knows, auxiliary=auxiliary), wide.truth)
        for knows in (False, True)
    )
    assert adaptive < 0.5 * naive
    assert adaptive < float((wide.truth - 0.5).square().mean())


def test_an_order_is_kept_by_what_is_found(wide):
    """Behind a ranking the cuts alone are left: nearly all pairs of neighbours are found in the released order."""
    view = wide.view("ranking-only")
    found = ChebyshevCentre().run(view).unknown
    order = (-view.releases[0]).argsort(dim=1, stable=True)
    logits = wide.model.logits(wide.own, found).gather(1, order)
    assert ((logits[:, :-1] - logits[:, 1:]) > -1e-6).double().mean() > 0.97
    assert feature_mse(found, wide.truth) < missed(EquationSolving(start="half"), view, wide.truth)


def test_ties_prove_nothing(wide):
    """Behind the label alone, the order of all other classes is that of their numbers and must not be believed."""
    view = wide.view("label-only")
    found = ChebyshevCentre().run(view).unknown
    scores = wide.model.scores(wide.own, found)
    assert (scores.argmax(dim=1) == view.releases[0].argmax(dim=1)).double().mean() > 0.9
    assert feature_mse(found, wide.truth) < missed(EquationSolving(start="half"), view, wide.truth)


def test_records_do_not_depend_on_those_beside_them(wide, monkeypatch):
    """In parts or together, the centres are the same, and the same seed draws the same made-up rows."""
    view = wide.view(U)
    together = ChebyshevCentre().run(view, seed=2).unknown
    assert torch.equal(ChebyshevCentre().run(view, seed=2).unknown, together)
    monkeypatch.setattr("privee.attacks.chebyshev_centre.AT_ONCE", 1000)
    assert torch.allclose(ChebyshevCentre().run(view, seed=2).unknown, together, atol=1e-6)
    other = dataclasses.replace(view, model=WhiteBox(wide.model._logits, own_columns=4, unknown_columns=9, n_classes=5))
    assert ChebyshevCentre().why_not(other) == "needs a logistic model"

"""Regressions that guesses and attacks share."""

import pytest
import torch

from privee.attacks import regressors
from privee.attacks.regressors import all_fits, best_fit, cross_fitted


def rows(count: int, seed: int = 0, curved: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    x = torch.rand(count, 4, generator=random, dtype=torch.float64)
    weights = torch.tensor([[1.0, 0.0], [0.5, -1.0], [0.0, 2.0], [0.3, 0.3]], dtype=torch.float64)
    y = torch.sin(6 * x) @ weights if curved else x @ weights
    return x, y + 0.05 * torch.randn(count, 2, generator=random, dtype=torch.float64)


def test_predictions_without_a_row_are_those_of_a_fit_without_it(monkeypatch):
    """The closed form against leaving rows out one by one, for every candidate.

    The level (mean output) and the middle of the inputs are those of all rows, which the closed form does not leave
    out; with many rows that is a small part, so it is compared at the accuracy that leaves.
    """
    x, y = rows(200)
    scale = float(torch.cdist(x, x).square().median())
    whole = list(all_fits(x, y))
    for row in (0, 57, 199):
        kept = torch.arange(200) != row
        monkeypatch.setattr(regressors, "WIDTHS", tuple(w * scale / _median(x[kept]) for w in (1.0, 4.0, 16.0)))
        without = list(all_fits(x[kept], y[kept]))
        monkeypatch.undo()
        for a, b in zip(whole, without, strict=True):
            torch.testing.assert_close(a.left_out[row], b(x[row : row + 1])[0], atol=0.02, rtol=0)


def _median(x: torch.Tensor) -> float:
    return float(torch.cdist(x, x).square().median())


def test_left_out_errors_are_those_of_new_rows_and_not_of_training_rows():
    x, y = rows(150, curved=True)
    new_x, new_y = rows(4000, seed=1, curved=True)
    for fit in all_fits(x, y):
        new = float((fit(new_x) - new_y).square().mean())
        assert 0.6 * new < fit.error < 1.6 * new
    sharp = best_fit(x, y)
    assert float((sharp(x) - y).square().mean()) < 0.9 * sharp.error


@pytest.mark.parametrize(("curved", "kernel"), [(False, "_Linear"), (True, "_Gaussian")])
def test_the_best_fit_bends_only_where_the_data_does(curved, kernel):
    fit = best_fit(*rows(300, curved=curved))
    assert type(fit._kernel).__name__ == kernel


def test_many_rows_cost_a_bounded_kernel(monkeypatch):
    monkeypatch.setattr(regressors, "MOST_ROWS", 100)
    x, y = rows(250, curved=True)
    for fit in all_fits(x, y):
        assert fit.out_of_sample(x).shape == y.shape
    assert len(best_fit(x, y).left_out) == 100


def test_odd_inputs_do_not_break_it():
    x, y = rows(40)
    for inputs in (torch.zeros_like(x), torch.cat([x, x], dim=1), x[:, :1].repeat(1, 60)):
        assert torch.isfinite(best_fit(inputs, y)(inputs)).all()
    two = best_fit(x[:2], y[:2])
    assert torch.isfinite(two(x)).all()


def test_a_regression_of_the_same_rows_is_worked_out_once(monkeypatch):
    calls = []

    def counted(*given):
        calls.append(given)
        return all_fits(*given)

    monkeypatch.setattr(regressors, "all_fits", counted)
    monkeypatch.setattr(regressors, "_remembered", {})
    x, y = rows(60)
    first = best_fit(x, y)
    assert best_fit(x.clone(), y.clone()) is first
    changed = x.clone()
    changed[0, 0] += 1e-9
    assert best_fit(changed, y) is not first
    assert best_fit(x, y + 1) is not first
    assert len(calls) == 3
    for seed in range(1, regressors.REMEMBERED + 1):
        best_fit(*rows(60, seed))
    assert len(regressors._remembered) == regressors.REMEMBERED
    assert best_fit(x, y) is not first  # it was not used for longest
    torch.testing.assert_close(best_fit(x, y)(x), first(x))


def test_one_candidate_alone_is_the_one_among_all(monkeypatch):
    monkeypatch.setattr(regressors, "MOST_ROWS", 100)
    x, y = rows(150, curved=True)
    every = list(all_fits(x, y))
    assert [fit.number for fit in every] == list(range(len(every)))
    for number in (0, 3, 4, 9, 15):
        (alone,) = all_fits(x, y, number)
        torch.testing.assert_close(alone(x), every[number](x), atol=1e-12, rtol=0)


def test_guesses_from_other_folds_do_not_give_a_row_away():
    """Of outputs that inputs say nothing about: leaving out one row alone, the row is what the guess lacks."""
    x = rows(400)[0]
    y = torch.randn(400, 1, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    guesses = best_fit(x, y).out_of_sample(x), cross_fitted(x, y)
    left = []
    for guess in guesses:
        known = torch.cat([torch.ones_like(y), x, guess], dim=1)
        left.append(float((y - known @ torch.linalg.lstsq(known, y).solution).square().mean() / y.var()))
    assert left[0] < 0.5
    assert left[1] > 0.95


@pytest.mark.parametrize("count", [2, 4, 5, 90])
def test_guesses_from_other_folds_are_as_good_as_guesses_of_new_rows(count):
    x, y = rows(count)
    guess = cross_fitted(x, y)
    assert guess.shape == y.shape
    assert torch.isfinite(guess).all()
    if count > 10:
        assert float((guess - y).square().mean()) < 2 * best_fit(x, y).error

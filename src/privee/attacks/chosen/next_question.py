"""Own columns whose answer tells most: all classes alike where the truth is expected, so that any order may come out.

Some releases change most elsewhere, such as where digits are rounded up or down: `Defense.telling_scores`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from privee.attacks.white_box import WhiteBox

LogitsOf = Callable[[Tensor], Tensor]
"""Logits with these own columns at what is possible of each record, less those wanted: (n, points, classes)."""

PROJECTIONS, STEPS, SOLVING, SEEN = 300, 40, 8, 10
CLOSE_ENOUGH = 1e-10
RATE, LOWEST_RATE = 0.05, 1e-3
SMALLEST = 1e-12
EVEN = 1e-2
"""Below this a question is as good as it gets."""


def equal_logits(model: WhiteBox, unknown: Tensor, start: Tensor, wanted: Tensor) -> Tensor:
    """For a logistic model: own columns in [0, 1] that give these logits with unknown ones, by projections in turn."""
    weights = model.own_linear
    assert weights is not None  # noqa: S101 (a logistic model has them)
    back = torch.linalg.pinv(weights - weights.mean(dim=0)).T
    own = start.clone()
    with torch.no_grad():
        for _ in range(PROJECTIONS):
            off = model.logits(own, unknown) - wanted
            off = off - off.mean(dim=1, keepdim=True)
            if off.abs().max() < CLOSE_ENOUGH:
                break
            own = (own - off @ back).clamp(0.0, 1.0)
    return own


def by_descent(logits: LogitsOf, start: Tensor) -> Tensor:
    """For a differentiable model: from a start, the own columns in [0, 1] with the least `unevenness`."""
    own = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([own], lr=RATE, fused=True)
    best, least = start.clone(), torch.full((len(start),), torch.inf, dtype=start.dtype)
    for step in range(STEPS):
        optimizer.param_groups[0]["lr"] = RATE * (1 - step / STEPS) + LOWEST_RATE
        worth = unevenness(logits(own))
        better = worth.detach() < least
        best[better], least[better] = own.detach()[better], worth.detach()[better]
        (own.grad,) = torch.autograd.grad(worth.log().sum(), own)
        optimizer.step()
        with torch.no_grad():
            own.clamp_(0.0, 1.0)
    return _solved(logits, best, least)


def _solved(logits: LogitsOf, best: Tensor, least: Tensor) -> Tensor:
    """The last digits, which a narrow belief needs: Newton's steps for equal expected logits, kept if they help."""
    for _ in range(SOLVING):
        own = best.clone().requires_grad_()
        off = logits(own).mean(dim=1)
        off = off - off.mean(dim=1, keepdim=True)
        rows = [torch.autograd.grad(part.sum(), own, retain_graph=True)[0] for part in off.unbind(dim=1)]
        step = torch.linalg.pinv(torch.stack(rows, dim=1), rtol=1e-4) @ off.detach()[..., None]
        with torch.no_grad():
            tried = (best - step[..., 0]).clamp(0.0, 1.0)
            worth = unevenness(logits(tried))
            better = worth < least
            best[better], least[better] = tried[better], worth[better]
    return best


def by_trial(logits: LogitsOf, start: Tensor, pool: Tensor, generator: torch.Generator) -> Tensor:
    """For any model: some columns of the best so far are exchanged for those of other rows, and kept if it helps."""
    best = start.clone()
    with torch.no_grad():
        least = unevenness(logits(best))
        for _ in range(STEPS):
            other = pool[torch.randint(len(pool), (len(best),), generator=generator)]
            share = torch.rand(len(best), 1, generator=generator) / 2
            tried = torch.where(torch.rand(best.shape, generator=generator) < share, other, best)
            worth = unevenness(logits(tried))
            better = worth < least
            best[better], least[better] = tried[better], worth[better]
    return best


def best_row(logits: LogitsOf, rows: Tensor, records: int) -> Tensor:
    """For each record the one of these rows with the least `unevenness`."""
    with torch.no_grad():
        worth = [unevenness(logits(row.expand(records, -1))) for row in rows]
    return rows[torch.stack(worth).argmin(dim=0)].clone()


def unevenness(logits: Tensor) -> Tensor:
    """How far apart classes are expected to be, in units of how far that may vary: (n,) of (n, points, classes).

    Pairs of which little is known yet count most; where not all can be made even, a few that are far off cost little.
    """
    mean, points = logits.mean(dim=1), logits.shape[1]
    lines = logits - mean[:, None]
    covariance = lines.mT @ lines / points
    spread = covariance.diagonal(dim1=1, dim2=2)
    varies = (spread[:, :, None] + spread[:, None, :] - 2 * covariance).clamp_min(SMALLEST)
    off = mean[:, :, None] - mean[:, None, :]
    counts = (varies / varies.sum(dim=(1, 2), keepdim=True)).detach()
    return (counts * (off.square() / varies).log1p()).sum(dim=(1, 2)) + SMALLEST

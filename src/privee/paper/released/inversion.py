"""The two attacks as the released code runs them, on many releases at once, and the loss they end with.

Records do not influence each other under Adam, so releases of several defenses go side by side in one run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import torch
from torch import Tensor

Logits = Callable[[slice, Tensor], Tensor]
"""Of some records, from the columns that the attack looks for."""
Seen = Callable[[Tensor], Tensor]
"""From logits to what is matched with the release: scores, scores of scores, or the logits themselves."""
ROWS_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True, kw_only=True)
class Steps:
    """How an attack goes on.

    Attributes:
        at: after how many steps its loss is looked at; it stops after the last.
        normal_start: from N(0, 1) and never clipped (GRNA), or from zero and clipped to [0, 1] (GIA).
        averaged_over: the loss is a mean over so many records. Adam adds 1e-8 to what it divides by, so a mean over
            all training rows makes smaller steps than one over a few.
    """

    at: tuple[int, ...]
    learning_rate: float
    normal_start: bool
    averaged_over: int = 1


def losses(
    logits: Logits, seen: Seen, start: Tensor, releases: Tensor, steps: Steps, fitted: Tensor | None = None
) -> Tensor:
    """Mean square of what the model shows minus the release, (places, records), at every place of `steps.at`.

    Args:
        logits: of the joint model.
        seen: what is made of them.
        start: the unknown columns to begin with, (records, columns).
        releases: what was handed out, (records, classes).
        steps: how the attack goes on.
        fitted: what the attack looks at, if not the releases that it is measured against.
    """
    wanted = releases if fitted is None else fitted
    parts = [slice(k, k + ROWS_AT_ONCE) for k in range(0, len(start), ROWS_AT_ONCE)]
    found = []
    for some in parts:

        def shown(unknown: Tensor, some: slice = some) -> Tensor:
            return seen(logits(some, unknown))

        found.append(_descend(shown, start[some], wanted[some], releases[some], steps))
    return torch.cat(found, dim=1)


def starting(rows: int, columns: int, steps: Steps, seed: int) -> Tensor:
    """Where the unknown columns start."""
    if not steps.normal_start:
        return torch.zeros(rows, columns)
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed))


def _descend(
    shown: Callable[[Tensor], Tensor], start: Tensor, wanted: Tensor, measured: Tensor, steps: Steps
) -> Tensor:
    unknown = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([unknown], lr=steps.learning_rate, fused=True)
    found = []
    for step in range(1, steps.at[-1] + 1):
        optimizer.zero_grad(set_to_none=True)
        loss = (shown(unknown) - wanted).square().mean(dim=1)
        (loss.sum() / steps.averaged_over).backward()
        optimizer.step()
        if not steps.normal_start:
            with torch.no_grad():
                unknown.clamp_(0.0, 1.0)
        if step in steps.at:
            with torch.no_grad():
                found.append((shown(unknown) - measured).square().mean(dim=1))
    return torch.stack(found)

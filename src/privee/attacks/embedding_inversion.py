"""Embedding inversion: what a curious coordinator makes of the embeddings that parties send it.

It stands before the release, so no defense of a release matters to it. What matters is what a party sends: an
embedding of 64 numbers says more than any score, and a sealed party sends a code instead (`sealed_code.py`).
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar, Literal

import torch
from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.column_learning import leading_directions
from privee.attacks.descent import descend, rows_at_once, slopes_of
from privee.attacks.most_likely import precision_of
from privee.attacks.registry import register
from privee.attacks.regressors import best_fit
from privee.attacks.sealed_code import Examples, as_numbers, learned
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox
from privee.errors import PriveeError, SettingError

FORMS = ("best", "learned", "descent")
REHEARSED, ONE_IN = 60, 4
"""Auxiliary rows that are kept out, to see which form does better: so many, or one in four of few."""
FEWEST, TO_CHOOSE = 2, 20
"""Rows without which nothing is learned, and rows of which some can be spared: with fewer it descends."""
MATCH = 0.01
"""How well embeddings are to be matched, in units of their spread."""
FINE = 0.1
"""Of the learning rate, in the last quarter of a descent."""


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingInversion(Attack):
    """A regression from embeddings, learned on auxiliary rows; and from there a descent through the party's network.

    Args:
        form: "learned" needs no gradients and "descent" no auxiliary rows; "best" takes for each column what does
            better on rows that are kept out; where fewer than 20 are known it descends.
        own_columns: False for a coordinator that no party helps.
        iterations: of Adam, in the descent.
        learning_rate: of Adam, likewise.
    """

    name: ClassVar[str] = "embedding-inversion"
    place: ClassVar[int] = 82
    summary: ClassVar[str] = "each column from the embeddings that parties send, before any release"
    needs: ClassVar[Needs] = Needs(embeddings=True)
    by_column: ClassVar[bool] = True
    audited: ClassVar[tuple[str, ...]] = ("embedding-inversion",)
    adapts: ClassVar[str] = "needs no release, so no defense of one matters"
    published: ClassVar[str] = (
        'the learned form: Yang et al., "UIFV: data reconstruction attack in vertical federated learning", 2024, and '
        "others before; here with a choice of learners, own columns and a prior"
    )

    form: Literal["best", "learned", "descent"] = "best"
    own_columns: bool = True
    iterations: int = 400
    learning_rate: float = 0.02

    def __post_init__(self) -> None:
        if self.form not in FORMS:
            raise SettingError(f"form must be one of {', '.join(FORMS)}; got {self.form!r}")

    def why_not(self, view: AttackerView) -> str | None:
        """Also where the form that is wanted lacks something."""
        general, rows = super().why_not(view), view.auxiliary
        if general is None and rows is not None and len(rows) < FEWEST:
            return f"needs {FEWEST} auxiliary rows or more, or none"
        if general is not None or rows is not None:
            return general or (NO_GRADIENT if self.form == "descent" and not _differentiable(view.model) else None)
        if self.form == "learned":
            return "needs auxiliary rows"
        return None if _differentiable(view.model) else f"needs auxiliary rows, as {NO_GRADIENT}"

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        if view.embeddings is None:
            raise PriveeError("embedding inversion needs embeddings")
        rows = view.auxiliary
        if rows is None:
            half = torch.full((view.rows, view.model.unknown_columns), 0.5, dtype=view.own.dtype)
            return self._descended(view.model, view.own, view.embeddings, half, None, watch)
        held = _kept_out(len(rows)) if self.form == "best" else torch.zeros(len(rows), dtype=torch.bool)
        known, kept_out = rows.chosen(~held), rows.chosen(held)
        own, sent = torch.cat([view.own, kept_out.own]), torch.cat([view.embeddings, _sent(view.model, kept_out)])
        codes = None if view.codes is None else torch.cat([view.codes, _codes(kept_out)])
        start = self._learned(view, known, Auxiliary(own, sent, codes), watch)
        if self.form == "learned" or not _differentiable(view.model):
            return start[: view.rows]
        found = self._descended(view.model, own, sent, start, known, watch)
        if not held.any():
            return found
        before, after = ((each[view.rows :] - kept_out.unknown).square().mean(dim=0) for each in (start, found))
        return torch.where(after < before, found, start)[: view.rows]

    def _learned(self, view: AttackerView, known: Auxiliary, new: Auxiliary, watch: Watch) -> Tensor:
        """By the best regressions; `new` has what was sent in place of the unknown columns."""
        there = _sent(view.model, known)
        middle, spread = there.mean(dim=0), there.std(dim=0) + 1e-9
        level, turn = known.own.mean(dim=0), leading_directions(known.own)

        def inputs(own: Tensor, sent: Tensor, codes: Tensor | None) -> Tensor:
            parts = [(own - level) @ turn] if self.own_columns else []
            parts.append((sent - middle) / spread)
            if codes is not None and not all(view.model.held):
                parts.append(as_numbers(view.model, codes))
            return torch.cat(parts, dim=1)

        examples = Examples(
            inputs(known.own, there, known.codes),
            known.unknown,
            rows=len(known),
            own=turn.shape[1] if self.own_columns else 0,
        )
        return learned(view.columns, examples, inputs(new.own, new.unknown, new.codes), watch)

    def _descended(
        self, model: WhiteBox, own: Tensor, sent: Tensor, start: Tensor, known: Auxiliary | None, watch: Watch
    ) -> Tensor:
        """Columns whose embeddings match, as near as that leaves open to what own columns let expect."""
        guess, precision = _prior(start, own if self.own_columns else None, known)
        spread = (sent.std(dim=0) if len(sent) > 1 else sent.abs()[0]).clamp_min(1e-6)
        scale = ((MATCH * spread).square() + _noise_of(model, known) ** 2).sqrt()

        def loss(part: slice, unknown: Tensor) -> Tensor:
            made = model.embeddings(own[part], unknown)
            assert made is not None  # noqa: S101 (there are embeddings to match)
            off = unknown - guess[part]
            return ((made - sent[part]) / scale).square().sum() + ((off @ precision) * off).sum()

        fine = self.iterations // 4
        for stage, epochs, rate in (("descent", self.iterations - fine, 1.0), ("fine", fine, FINE)):
            start = descend(
                start,
                slopes_of(loss),
                watch,
                stage=stage,
                epochs=epochs,
                learning_rate=rate * self.learning_rate,
                batch_size=rows_at_once(own.shape[1] + start.shape[1]),
                clip=True,
            )
        return start


def _kept_out(rows: int) -> Tensor:
    """Which of so many rows are kept out, evenly spread; none of very few."""
    count = min(REHEARSED, rows // ONE_IN) if rows >= TO_CHOOSE else 0
    held = torch.zeros(rows, dtype=torch.bool)
    held[torch.arange(count) * rows // max(count, 1)] = True
    return held


NO_GRADIENT = "no gradient reaches the columns"


def _differentiable(model: WhiteBox) -> bool:
    own, unknown = (torch.full((1, count), 0.5).double() for count in (model.own_columns, model.unknown_columns))
    made = model.embeddings(own, unknown.requires_grad_())
    return made is not None and made.requires_grad


def _prior(start: Tensor, own: Tensor | None, known: Auxiliary | None) -> tuple[Tensor, Tensor]:
    """What is expected without embeddings, and how surely; hardly anything where nothing is known."""
    if known is None:
        return start, 1e-3 * torch.eye(start.shape[1], dtype=start.dtype)
    if own is None:
        means = known.unknown.mean(dim=0)
        return means.expand_as(start), precision_of(known.unknown - means)
    fit = best_fit(known.own, known.unknown)
    return fit(own), precision_of(known.unknown - fit.out_of_sample(known.own))


def _sent(model: WhiteBox, rows: Auxiliary) -> Tensor:
    with torch.no_grad():
        found = model.embeddings(rows.own, rows.unknown, rows.noise)
    assert found is not None  # noqa: S101 (there are senders)
    return found


def _noise_of(model: WhiteBox, known: Auxiliary | None) -> Tensor | float:
    """How far what noisy parties send is from what they send on average."""
    if known is None or known.noise is None:
        return 0.0
    return (_sent(model, known) - _sent(model, dataclasses.replace(known, noise=None))).std(dim=0)


def _codes(rows: Auxiliary) -> Tensor:
    assert rows.codes is not None  # noqa: S101 (sealed parties sent some for all rows)
    return rows.codes

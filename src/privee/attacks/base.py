"""The contract every attack keeps."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor

from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.registry import LAST

LUO = 'Luo, Wu, Xiao and Ooi, "Feature inference attack on model predictions in vertical federated learning", ICDE 2021'


@dataclasses.dataclass(frozen=True, kw_only=True)
class Needs:
    """What an attack needs to make sense."""

    gradients: bool = False
    linear_model: bool = False
    auxiliary: bool = False
    queries: int = 1
    oracle: bool = False
    codes: bool = False
    embeddings: bool = False

    def words(self) -> tuple[str, ...]:
        """For people; empty where releases, own columns and the model's scores are enough."""
        wanted = {
            "a logistic model": self.linear_model,
            "gradients": self.gradients,
            "auxiliary rows": self.auxiliary,
            f"{self.queries} queries per record": self.queries > 1,
            "own columns of its choice": self.oracle,
            "a sealed party": self.codes,
            "the coordinator's view": self.embeddings,
        }
        return tuple(words for words, needed in wanted.items() if needed)


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstruction:
    """The unknown columns as the attacker sees them, and how well they explain what was released.

    `before` are earlier estimates of an attack that asks several questions: before any, after one, and so on.
    """

    unknown: Tensor
    residual: float
    before: tuple[Tensor, ...] = ()


class Attack(ABC):
    """Reconstructs the unknown columns from what an `AttackerView` holds."""

    name: ClassVar[str]
    place: ClassVar[int] = LAST
    """Where it stands in listings and tables: the lower, the earlier."""
    summary: ClassVar[str] = ""
    needs: ClassVar[Needs] = Needs()
    audited: ClassVar[tuple[str, ...]] = ()
    """The specs that an audit tries unless others are asked for, where records are queried often enough."""
    benched: ClassVar[tuple[str, ...]] = ()
    """The specs that a leaderboard tries beside those."""
    quick: ClassVar[bool] = False
    """Strong, and done in seconds: `recommend` tries it."""
    slow: ClassVar[bool] = False
    """Takes several seconds on a hundred records: the quick leaderboard leaves it out, and says so."""
    by_column: ClassVar[bool] = False
    """It learns each column by itself from examples, so an audit gives it many records and auxiliary rows, once."""
    adapts: ClassVar[str] = "undoes what is public of the defense"
    """What it does with the defense when it knows it."""
    reads_only: ClassVar[bool] = False
    """It does no more with the defense than that: where there is nothing to undo, knowing it changes nothing."""
    published: ClassVar[str] = ""
    """Where it was published; empty for what is this project's own."""

    def why_not(self, view: AttackerView) -> str | None:
        """Why this attack makes no sense on this view, or None if it does."""
        if self.needs.linear_model and view.model.linear is None:
            return "needs a logistic model"
        if self.needs.auxiliary and view.auxiliary is None:
            return "needs auxiliary rows"
        if self.needs.gradients and not view.model.differentiable:
            return "the model is not differentiable" if all(view.model.held) else "no gradient passes a sealed code"
        not_granted = {
            "needs to ask with own columns of its choice": self.needs.oracle and view.oracle is None,
            "needs the embeddings that a coordinator sees": self.needs.embeddings and view.embeddings is None,
        }
        if any(not_granted.values()):
            return next(words for words, lacking in not_granted.items() if lacking)
        if len(view.releases) < self.needs.queries:
            return f"needs {self.needs.queries} queries per record"
        return _why_no_codes(view) if self.needs.codes else None

    def run(self, view: AttackerView, *, seed: int = 0, watch: Watch | None = None) -> Reconstruction:
        """Attack; the same seed gives the same reconstruction, also if `watch` resumes an interrupted run."""
        watch = watch or Watch()
        watch.begin(self.settings(), seed, view)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            *before, found = self._estimates(view, watch)
        result = Reconstruction(found, confidence_residual(view, found), tuple(before))
        watch.done()
        return result

    def _estimates(self, view: AttackerView, watch: Watch) -> Sequence[Tensor]:
        """The unknown columns, after earlier estimates of them if there are any."""
        return [self._reconstruct(view, watch)]

    @abstractmethod
    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        """The unknown columns, (n, columns). Long loops go over `watch.steps`."""

    def settings(self) -> dict[str, Any]:
        """The settings as plain values; `attack(**settings)` gives the attack back."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        return {"name": self.name} | {key: v.settings() if isinstance(v, Attack) else v for key, v in values.items()}


NOT_SEALED = "no party is sealed"


def _why_no_codes(view: AttackerView) -> str | None:
    """A code is all that can be told only of columns that reach the scores through it."""
    if view.codes is None or all(view.model.held):
        return NOT_SEALED
    return "not all private columns are a sealed party's" if view.model.unsealed_unknown else None


def confidence_residual(view: AttackerView, unknown: Tensor) -> float:
    """The paper's printed figure: mean square of model scores minus released values, over records and classes."""
    with torch.no_grad():
        scores = view.model.scores(view.own, unknown)
    return float((scores - view.releases).square().mean())

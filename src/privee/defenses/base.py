"""The contract every defense keeps.

A defense is a frozen dataclass: its fields are its settings, checked when it is made. It fills in two methods on
plain (n, K) rows, `_release` and `_estimate`; forms, dtypes and validation are handled here, once.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import NDArray

from privee.defenses.advice import Advice
from privee.errors import SettingError
from privee.randomness import Draws, secure
from privee.registry import LAST, write_spec
from privee.scores import check_release, check_rows, to_rows
from privee.scores.along_rows import BLOCK, row_blocks
from privee.scores.forms import Floats
from privee.scores.validation import check_rows_alone


@dataclasses.dataclass(frozen=True, kw_only=True)
class Guarantee:
    """What is proven about a release, and what is not.

    Attributes:
        proven: one sentence; "none" where nothing is proven.
        same: which score vectors the proof says cannot be told apart (empty if none).
        epsilon, delta: differential privacy over `same`; None where no such proof exists.
        assumptions: what the proof takes for granted.
        not_covered: what the release still gives away.
        figures: the numbers behind the sentence.
    """

    proven: str = "none"
    same: str = ""
    epsilon: float | None = None
    delta: float | None = None
    assumptions: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    figures: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        from privee.html_tables import html_table

        bounds = [f"{name} {value:g}" for name, value in (("epsilon", self.epsilon), ("delta", self.delta)) if value]
        figures = [f"{name.replace('_', ' ')}: {value:.4g}" for name, value in self.figures.items()]
        rows = (
            ("proven", self.proven),
            ("for", self.same),
            ("differential privacy", ", ".join(bounds)),
            ("taken for granted", self.assumptions),
            ("not covered", self.not_covered),
            ("figures", figures),
        )
        return html_table("What is proven about one release", [(name, cell) for name, cell in rows if cell])


class Defense(ABC):
    """Turns scores into a release."""

    name: ClassVar[str]
    place: ClassVar[int] = LAST
    """Where it stands in listings and tables: the lower, the earlier."""
    preserves_order: ClassVar[bool] = False
    summary: ClassVar[str] = ""
    example: ClassVar[str] = ""
    """A spec to show; only needed if there are settings without a default."""
    slow: ClassVar[bool] = False
    """Takes seconds for a release: tests and audits run it on a few rows, or leave it out unless asked."""
    audited: ClassVar[tuple[str, ...]] = ()
    """The specs that an audit tries unless others are asked for."""
    benched: ClassVar[tuple[str, ...]] = ()
    """The specs that the leaderboard has; unless given, those of an audit, else the example, else the name."""
    uses_sums: ClassVar[bool] = True
    """Does `_release` look at `sums`? If not they are only looked at roughly, which is quicker."""
    rows_apart: ClassVar[bool] = False
    """Does it draw equally much for each row, in the order of the rows, and look at no row but the row itself? Then
    repeatable draws come in batches; each row's release must be, bit for bit, the one that it gets alone."""
    advice: ClassVar[Advice] = Advice()
    """What `recommend` may do with it and say of it."""

    @abstractmethod
    def _release(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """Turn valid contiguous (n, K) rows into a new array of the same shape and dtype."""

    @abstractmethod
    def _estimate(self, rows: NDArray[np.float64]) -> Floats:
        """Undo a release as well as public knowledge allows."""

    @abstractmethod
    def guarantee(self, n_classes: int) -> Guarantee:
        """What is proven for this many classes."""

    @overload
    def release(self, scores: Floats, *, draws: Draws | None = None, check_sum: bool = True) -> Floats: ...
    @overload
    def release(self, scores: Any, *, draws: Draws | None = None, check_sum: bool = True) -> Any: ...
    def release(self, scores: Any, *, draws: Draws | None = None, check_sum: bool = True) -> Any:
        """Hand out a release in place of the scores.

        Args:
            scores: one vector (K,) or a batch (n, K), NumPy or torch; float32 and float64 are kept.
            draws: where randomness comes from; secure draws unless given (`privee.seeded(7)` for experiments).
            check_sum: False accepts rows that do not sum to one.

        Raises:
            ScoreError: the scores are not valid; the message names the row.
        """
        rows, form = to_rows(scores)
        sums = (check_rows if self.uses_sums else check_rows_alone)(rows, check_sum=check_sum)
        source = secure() if draws is None else draws
        if rows.size <= BLOCK or len(rows) == 1:
            return form.restore(self._release(rows, sums, source))
        return form.restore(self._release_in_blocks(rows, sums, source))

    def _release_in_blocks(self, rows: Floats, sums: NDArray[np.float64], draws: Draws) -> Floats:
        """Row blocks that fit the processor's cache: faster, and memory stays near that of the result."""
        out = np.empty_like(rows)
        for block in row_blocks(rows):
            out[block] = self._release(rows[block], sums[block], draws)
        return out

    @overload
    def estimate_scores(self, release: Floats) -> Floats: ...
    @overload
    def estimate_scores(self, release: Any) -> Any: ...
    def estimate_scores(self, release: Any) -> Any:
        """The best public inverse: what an attacker who knows this defense makes of a release.

        It knows the settings, and that scores sum to one; it does not know the draws.
        """
        rows, form = to_rows(release)
        check_release(rows)
        estimate = self._estimate(rows.astype(np.float64)) if rows.size else rows
        return form.restore(estimate.astype(rows.dtype, copy=False))

    def parameters(self, n_classes: int) -> str:
        """What this defense works out for this many classes, such as security parameters; most have nothing to say."""
        return ""

    @classmethod
    def within(cls, epsilon: float, *, keep_top: int | None, public: Any = None) -> Defense:
        """With this epsilon for a release, keeping the order of so many leading classes (None: of all).

        For defenses whose `advice` calls their numbers meaningful; `public` are scores to learn settings from.
        """
        raise SettingError(f"{cls.name} has no epsilon to set")

    @property
    def learned_by(self) -> str:
        """The call that learned some of its settings from `public_scores`; empty if none were learned."""
        return ""

    @property
    def monotone(self) -> bool:
        """Does a class that is released above another prove that it scored at least as high?"""
        return self.preserves_order

    def telling_scores(self, n_classes: int) -> NDArray[np.float64]:
        """Scores near which a release changes most: who may choose what is asked asks there. Equal ones by default."""
        return np.full(n_classes, 1 / n_classes)

    def public_copy(self) -> Defense:
        """What an attacker can run by itself: the same public settings without secrets, and without long waits."""
        return self

    def settings(self) -> dict[str, Any]:
        """The settings as plain values; `privee.defense(**settings)` gives the defense back, also through JSON."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        values = {field.name: getattr(self, field.name) for field in fields}
        return {"name": self.name} | {key: list(v) if isinstance(v, tuple) else v for key, v in values.items()}

    @property
    def spec(self) -> str:
        """The settings as one string, as the command line takes them: `privee-u:rho=0.1`."""
        return write_spec(self.name, self)


def check_positive(**settings: float) -> None:
    """Refuse settings that are not finite numbers above zero."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
            raise SettingError(f"{name} must be a number above 0, got {value!r}")


def check_whole(smallest: int, largest: int, **settings: int) -> None:
    """Refuse settings that are not whole numbers in a range."""
    for name, value in settings.items():
        if isinstance(value, bool) or not isinstance(value, int) or not smallest <= value <= largest:
            raise SettingError(f"{name} must be a whole number from {smallest} to {largest}, got {value!r}")

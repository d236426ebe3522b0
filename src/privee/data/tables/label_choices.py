"""What labels mean where the column does not tell: missing ones, and numbers that may be no classes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from privee.data.tables.cells import is_missing
from privee.data.tables.labels import Labels, as_number, fit_labels
from privee.errors import PriveeError, SettingError, TableError

MissingLabels = Literal["refuse", "drop"]
MOST_NUMBERS, MOST_NAMES = 20, 100
"""More classes than these are taken for classes only if somebody says so."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class LabelChoices:
    """What labels mean.

    Attributes:
        missing: whether records without a label are refused or left out of training and testing.
        is_class: whether every different label is a class, however many there are.
        threshold: two classes instead: numbers below it, and the others.
    """

    missing: MissingLabels = "refuse"
    is_class: bool = False
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.missing not in ("refuse", "drop"):
            raise SettingError(f"missing labels are to be refused or dropped, not {self.missing!r}")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise SettingError("the threshold for labels must be a finite number")
        if self.threshold is not None and self.is_class:
            raise SettingError("labels are classes or numbers with a threshold; give --label-is or --label-threshold")


def fit_chosen(
    labels: Sequence[str], rows: Sequence[int], choices: LabelChoices, where: str
) -> tuple[Labels, NDArray[np.bool_]]:
    """The classes, and which labels are known.

    Args:
        labels: as text.
        rows: where each stands in its file, from 0 on, for messages.
        choices: what they mean.
        where: the column and its file, for messages.
    """
    known = np.array([not is_missing(label) for label in labels], dtype=bool)
    if not known.any():
        raise TableError(f"{where} has no label for any of the {len(known):,} matched records")
    if not known.all() and choices.missing == "refuse":
        first = int(np.flatnonzero(~known)[0])
        raise TableError(
            f"{where}: {(~known).sum():,} of {len(known):,} matched records have no label, first at data row "
            f"{rows[first] + 1}; give --missing-labels drop to train without them"
        )
    held = [label for label, one in zip(labels, known, strict=True) if one]
    if choices.threshold is not None:
        _refuse_words(labels, rows, known, where)
    elif not choices.is_class:
        _refuse_many(held, where)
    try:
        return fit_labels(held, threshold=choices.threshold), known
    except PriveeError as error:  # such as a single class
        raise TableError(f"{where}: {error}") from None


def _refuse_words(labels: Sequence[str], rows: Sequence[int], known: NDArray[np.bool_], where: str) -> None:
    for k in np.flatnonzero(known).tolist():
        if as_number(labels[k]) is None:
            raise TableError(
                f"{where} must hold numbers for a threshold; data row {rows[k] + 1} does not", example=labels[k]
            )


def _refuse_many(labels: Sequence[str], where: str) -> None:
    different = set(labels)
    numbers = all(as_number(label) is not None for label in different)
    if len(different) > (MOST_NUMBERS if numbers else MOST_NAMES):
        count = f"{len(different):,} different {'numbers' if numbers else 'labels'}"
        two = ", or --label-threshold X for two classes, below X and from X on" if numbers else ""
        raise TableError(f"{where} holds {count}: is each of them a class? Give --label-is class if so{two}")

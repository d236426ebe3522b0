"""The active party's labels as class numbers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.tables.cells import NUMBER, WITH_COMMA, is_missing
from privee.errors import PriveeError

SAVED_VERSION = 1


@dataclasses.dataclass(frozen=True)
class Labels:
    """The classes by number: class k is called `classes[k]`.

    With a threshold, labels are numbers: those below it are of the first class, all others of the second.
    """

    classes: tuple[str, ...]
    threshold: float | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None and len(self.classes) != 2:
            raise PriveeError("a threshold makes two classes")
        if len(set(self.classes)) < 2:
            raise PriveeError("the label column has a single class: nothing to learn")
        if len(set(self.classes)) != len(self.classes):
            raise PriveeError("a class is listed twice")

    def encode(self, labels: Sequence[str | None]) -> NDArray[np.int64]:
        """Class numbers, one per label."""
        codes = self.encode_known(labels)
        unknown = np.flatnonzero(codes < 0)
        if len(unknown):
            row = int(unknown[0])
            _refuse_missing(labels[row], row)
            raise PriveeError(f"the label at data row {row + 1} is not one of the {len(self.classes)} classes fitted")
        return codes

    def encode_known(self, labels: Sequence[str | None]) -> NDArray[np.int64]:
        """Class numbers, one per label; -1 where a label is missing or none of the classes."""
        if self.threshold is not None:
            found = (as_number(label) for label in labels)
            sides = (-1 if one is None else int(one >= self.threshold) for one in found)
            return np.fromiter(sides, dtype=np.int64, count=len(labels))
        number = {name: k for k, name in enumerate(self.classes)}
        return np.fromiter((number.get(label or "", -1) for label in labels), dtype=np.int64, count=len(labels))

    def decode(self, codes: Iterable[int]) -> list[str]:
        """The classes' names, one per class number."""
        numbers = np.asarray(codes if isinstance(codes, np.ndarray) else list(codes))
        if numbers.size == 0:
            return []
        if numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= len(self.classes):
            raise PriveeError(f"class numbers are whole and run from 0 to {len(self.classes) - 1}")
        return [self.classes[code] for code in numbers.tolist()]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain: dict[str, Any] = {"version": SAVED_VERSION, "classes": list(self.classes)}
        return plain if self.threshold is None else plain | {"threshold": self.threshold}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Labels:
        """Back from `as_dict`; what does not make labels is refused."""
        try:
            version, classes = saved["version"], saved["classes"]
        except (KeyError, TypeError):
            raise PriveeError("these are not saved labels") from None
        if version != SAVED_VERSION:
            raise PriveeError(f"the labels were saved in format {version!r}; this privee reads {SAVED_VERSION}")
        if not isinstance(classes, list) or not all(isinstance(name, str) for name in classes):
            raise PriveeError("these are not saved labels: classes are a list of names")
        threshold = saved.get("threshold")
        if threshold is not None and (isinstance(threshold, bool) or not isinstance(threshold, int | float)):
            raise PriveeError("these are not saved labels: a threshold is a number")
        return cls(tuple(classes), threshold)


def fit_labels(labels: Sequence[str | None], *, threshold: float | None = None) -> Labels:
    """The classes in a label column, sorted; by value if all of them are numbers. With a threshold, two.

    Example:
        >>> fit_labels(["10", "9", "10"]).classes
        ('9', '10')
    """
    names: set[str] = set()
    for row, label in enumerate(labels):
        if label in names:
            continue
        _refuse_missing(label, row)
        names.add(str(label))
    if not names:
        raise PriveeError("the label column is empty")
    if threshold is not None:
        fitted = Labels((f"below {threshold:g}", f"{threshold:g} or more"), threshold)
        if len(set(fitted.encode(list(names)).tolist())) < 2:
            raise PriveeError(f"all labels are on one side of {threshold:g}: nothing to learn")
        return fitted
    return Labels(tuple(_sorted(names)))


def as_number(label: str | None) -> float | None:
    """The number that a label is, also with a decimal comma; None if it is none."""
    text = (label or "").strip()
    if re.match(WITH_COMMA, text):
        text = text.replace(".", "").replace(",", ".")
    return float(text) if re.match(NUMBER, text) else None


def _sorted(names: set[str]) -> list[str]:
    try:
        return sorted(names, key=lambda name: (float(name), name))
    except ValueError:
        return sorted(names)


def _refuse_missing(label: str | None, row: int) -> None:
    if is_missing(label):
        raise PriveeError(f"the label is missing at data row {row + 1}")

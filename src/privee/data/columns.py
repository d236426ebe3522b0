"""Columns as their owners know them, and where the features that were made of each are in a joint row."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Literal

from privee.data.datasets.base import Dataset
from privee.data.partition import Partition
from privee.data.tables.encoders import CategoricalColumn
from privee.data.tables.preprocessing import Preprocessing
from privee.errors import SettingError

Kind = Literal["number", "category"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SourceColumn:
    """One original column: a number is one feature, a category one 0/1 feature for each of its values.

    Attributes:
        name: as its owner calls it.
        party: who holds it.
        kind: "number" or "category"; a yes/no column is a number of two values.
        places: of its features in a row.
        values: of a category, in the order of the places.
        sensitive: marked by whoever asks, so that it is always attacked with everything and named first.
    """

    name: str
    party: str
    kind: Kind
    places: tuple[int, ...]
    values: tuple[str, ...] = ()
    sensitive: bool = False

    @property
    def called(self) -> set[str]:
        """What people may call it."""
        return {self.name, f"{self.party}:{self.name}"}

    def within(self, known: int) -> SourceColumn | None:
        """The column as an attacker sees it who holds the first `known` features; None if nothing of it is unknown."""
        left = [k for k, place in enumerate(self.places) if place >= known]
        if not left:
            return None
        places = tuple(self.places[k] - known for k in left)
        return dataclasses.replace(
            self, places=places, values=tuple(self.values[k] for k in left) if self.values else ()
        )


def check_private(names: Iterable[str], private: Sequence[SourceColumn]) -> None:
    """Refuse names that no private column has; each is NAME or PARTY:NAME."""
    for name in names:
        if not any(name in column.called for column in private):
            there = ", ".join(column.name for column in private)
            raise SettingError(f"no private column is called {name!r}; there are {there}")


def columns_of_tables(fitted: Iterable[tuple[str, Preprocessing]]) -> tuple[SourceColumn, ...]:
    """From each party's preprocessing, in the parties' order.

    Whether a number was given at all is a yes/no column of its own; for a category it is one more value.
    """
    found, start = [], 0
    for party, preprocessing in fitted:
        for column, group in zip(preprocessing.columns, preprocessing.groups, strict=True):
            places = tuple(start + place for place in group)
            if isinstance(column, CategoricalColumn):
                values = (*column.categories, *(("missing",) if column.missing else ()))
                found.append(SourceColumn(name=column.name, party=party, kind="category", places=places, values=values))
                continue
            found += [
                SourceColumn(name=name, party=party, kind="number", places=(place,))
                for name, place in zip(column.feature_names, places, strict=True)
            ]
        start += len(preprocessing.feature_names)
    return tuple(found)


def columns_of_dataset(dataset: Dataset, partition: Partition) -> tuple[SourceColumn, ...]:
    """From a dataset's own names; pixels are called by their place in the picture."""
    names, groups = dataset.column_names, dataset.groups
    if dataset.image_shape is not None:
        names, groups = _pixels(dataset.image_shape), tuple((k,) for k in range(dataset.n_features))
    row = [place for part in partition.parts for place in part.features]
    party = [part.name for part in partition.parts for _ in part.features]
    position = {feature: k for k, feature in enumerate(row)}
    found = [
        SourceColumn(
            name=name,
            party=party[position[group[0]]],
            kind="category" if len(group) > 1 else "number",
            places=tuple(position[feature] for feature in group),
            values=dataset.values.get(name, tuple(f"value {k + 1}" for k in range(len(group))))
            if len(group) > 1
            else (),
        )
        for name, group in zip(names, groups, strict=True)
    ]
    return tuple(sorted(found, key=lambda column: column.places))


def columns_of_names(
    names: Sequence[str], party: str, *, start: int = 0, yes_no: Sequence[bool] | None = None
) -> tuple[SourceColumn, ...]:
    """From the names of features: those of 0/1 features called `column=value` make up one category."""
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        head, equals, _ = name.partition("=")
        together = equals and (yes_no is None or yes_no[k])
        found.setdefault(head if together else name, []).append(k)
    return tuple(
        SourceColumn(
            name=name,
            party=party,
            kind="category" if len(places) > 1 else "number",
            places=tuple(start + k for k in places),
            values=tuple(names[k].partition("=")[2] for k in places) if len(places) > 1 else (),
        )
        for name, places in found.items()
    )


def _pixels(shape: tuple[int, int, int]) -> tuple[str, ...]:
    channels, height, width = shape
    colours = ("",) if channels == 1 else tuple(f", channel {c + 1}" for c in range(channels))
    return tuple(
        f"pixel {row + 1},{column + 1}{colour}"
        for colour in colours
        for row in range(height)
        for column in range(width)
    )

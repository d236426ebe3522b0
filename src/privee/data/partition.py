"""Who holds which columns: the active party (the adversary of an audit) first, then the passive ones."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.randomness import seeded

SAVED_VERSION = 1

Group = tuple[int, ...]
How = Literal["contiguous", "random", "strips"]
"""How columns are dealt out; strips are for pictures."""


@dataclasses.dataclass(frozen=True)
class Part:
    """The columns of one party: positions in the flattened feature row, and the shape they take when held alone."""

    name: str
    features: tuple[int, ...]
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.features:
            raise SettingError(f"{self.name} holds no features; every party needs at least one")
        if min(self.features) < 0 or min(self.shape, default=0) < 1:
            raise SettingError(f"{self.name} has a negative position or an empty shape")
        if math.prod(self.shape) != len(self.features):
            raise SettingError(f"{self.name} holds {len(self.features)} features, which do not fill {self.shape}")

    def take(self, x: NDArray[Any]) -> NDArray[Any]:
        """This party's features of the rows `x`, (n, ...) in and (n, *shape) out, contiguous and of the same dtype."""
        flat = x.reshape(len(x), math.prod(x.shape[1:]))
        if max(self.features) >= flat.shape[1]:
            raise PriveeError(f"{self.name} holds feature {max(self.features)}, but rows have {flat.shape[1]} features")
        taken = np.take(flat, self.features, axis=1)
        return np.ascontiguousarray(taken.reshape(len(x), *self.shape))


@dataclasses.dataclass(frozen=True)
class Partition:
    """All parties' parts: each of the `n_features` features belongs to exactly one of them."""

    parts: tuple[Part, ...]
    n_features: int

    def __post_init__(self) -> None:
        expected = [party_name(k) for k in range(len(self.parts))]
        if len(self.parts) < 2 or [part.name for part in self.parts] != expected:
            raise SettingError("a partition needs two or more parties: active, passive-1, passive-2, ... in this order")
        held = sorted(feature for part in self.parts for feature in part.features)
        if len(held) != self.n_features or held != list(range(len(held))):
            raise SettingError(f"every one of the {self.n_features} features must belong to exactly one party")

    @property
    def known_share(self) -> float:
        """Share of the features that the active party, hence the adversary, holds."""
        return len(self.parts[0].features) / self.n_features

    @property
    def unknown_share(self) -> float:
        """Share of the features that the adversary does not hold."""
        return (self.n_features - len(self.parts[0].features)) / self.n_features

    def describe(self) -> str:
        """One line for people, with the known and the unknown share.

        Example:
            >>> split_columns(64, adversary_fraction=0.25).describe()
            '2 parties over 64 features: active holds 16 (25.0 % known to the adversary, 75.0 % unknown), passive-1 48'
        """
        active, *passive = self.parts
        shares = f"{self.known_share:.1%} known to the adversary, {self.unknown_share:.1%} unknown".replace("%", " %")
        others = ", ".join(f"{part.name} {len(part.features)}" for part in passive)
        head = f"{len(self.parts)} parties over {self.n_features} features"
        return f"{head}: active holds {len(active.features)} ({shares}), {others}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        parts = [{"name": p.name, "features": list(p.features), "shape": list(p.shape)} for p in self.parts]
        return {"version": SAVED_VERSION, "n_features": self.n_features, "parts": parts}

    @classmethod
    def from_dict(cls, saved: Mapping[str, Any]) -> Partition:
        """Back from `as_dict`; what does not make a partition is refused."""
        try:
            if saved["version"] != SAVED_VERSION:
                raise PriveeError(f"the partition was saved in another format than {SAVED_VERSION}, which privee reads")
            parts = tuple(Part(str(p["name"]), _integers(p["features"]), _integers(p["shape"])) for p in saved["parts"])
            return cls(parts, *_integers([saved["n_features"]]))
        except (KeyError, TypeError):
            raise PriveeError("this is not a saved partition") from None


def party_name(position: int) -> str:
    """What the party at this position is called."""
    return f"passive-{position}" if position else "active"


def split_columns(
    n_features: int,
    *,
    parties: int = 2,
    adversary_fraction: float = 0.5,
    how: Literal["contiguous", "random"] = "contiguous",
    seed: int = 0,
    groups: Sequence[Sequence[int]] | None = None,
) -> Partition:
    """Deal out the columns of a table.

    Args:
        n_features: Width of the feature row.
        parties: Number of parties, the active one included.
        adversary_fraction: Share of the columns for the active party, rounded; every party gets at least one.
        how: `contiguous` deals columns out as they stand, `random` shuffles them by `seed`.
        seed: Same seed, same partition.
        groups: Features that stay together, such as a one-hot encoded column; the columns to deal out are then these.
    """
    if how not in ("contiguous", "random"):
        raise SettingError(f"how must be 'contiguous' or 'random', got {how!r}")
    columns = _columns(n_features, groups)
    order = np.arange(len(columns))
    if how == "random":
        order = np.argsort(seeded(seed, "columns").words(len(columns)), kind="stable")
    parts, start = [], 0
    for k, width in enumerate(_widths(len(columns), parties, adversary_fraction)):
        mine = sorted(order[start : start + width].tolist())
        features = tuple(feature for column in mine for feature in columns[column])
        parts.append(Part(party_name(k), features, (len(features),)))
        start += width
    return Partition(tuple(parts), n_features)


def split_image(shape: tuple[int, int, int], *, parties: int = 2, adversary_fraction: float | None = None) -> Partition:
    """Deal out an image of `shape` (C, H, W) in vertical strips of pixel columns, the leftmost to the active party.

    Without a fraction the strips are as even as can be: left and right halves for two parties.
    """
    if len(shape) != 3 or min(shape) < 1:
        raise SettingError(f"an image has a shape of channels, height and width, all positive; got {shape}")
    positions = np.arange(math.prod(shape)).reshape(shape)
    parts, start = [], 0
    for k, width in enumerate(_widths(shape[2], parties, adversary_fraction)):
        strip = positions[:, :, start : start + width]
        parts.append(Part(party_name(k), tuple(strip.ravel().tolist()), strip.shape))
        start += width
    return Partition(tuple(parts), positions.size)


def _widths(columns: int, parties: int, fraction: float | None) -> list[int]:
    """How many columns each party gets."""
    if parties < 2:
        raise SettingError(f"a partition needs two or more parties, got {parties}")
    if columns < parties:
        raise SettingError(f"{columns} columns are too few for {parties} parties: each needs at least one")
    if fraction is None:
        return _evenly(columns, parties)
    if not 0 < fraction < 1:
        raise SettingError(f"the adversary fraction must lie between 0 and 1, both excluded; got {fraction}")
    active = min(max(1, round(fraction * columns)), columns - (parties - 1))
    return [active, *_evenly(columns - active, parties - 1)]


def _evenly(total: int, shares: int) -> list[int]:
    each, more = divmod(total, shares)
    return [each + (k < more) for k in range(shares)]


def _columns(n_features: int, groups: Sequence[Sequence[int]] | None) -> list[Group]:
    if groups is None:
        return [(feature,) for feature in range(n_features)]
    columns = [tuple(int(feature) for feature in group) for group in groups]
    if not all(columns):
        raise SettingError("a group of features is empty")
    if sorted(feature for column in columns for feature in column) != list(range(n_features)):
        raise SettingError(f"the groups must hold every one of the {n_features} features exactly once")
    return columns


def _integers(values: Any) -> tuple[int, ...]:
    if not all(type(value) is int for value in values):
        raise TypeError
    return tuple(values)

"""What comes back: arrays and records that say where they come from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Release(np.ndarray[tuple[int, ...], np.dtype[np.float64]]):
    """A release as an array (n, K), or (K,) for one entity, with what the gateway said about it.

    Slices and copies keep what was said; results of arithmetic are plain arrays, for they are no release any more.

    Attributes:
        release_id: under which the ledger has it.
        remaining: releases left to the entity with the fewest, None where nothing limits them.
        charged: entities that were charged; fewer than asked about where draws are repeatable.
        defense: how the release was made, such as "ordered-dp:epsilon=1.0".
        model_version: changes with any role's weights.
        classes: names of the columns, if `model()` was called before on the same version; else None.
    """

    release_id: str = ""
    remaining: int | None = None
    charged: int = 0
    defense: str = ""
    model_version: str = ""
    classes: tuple[str, ...] | None = None

    def __array_finalize__(self, source: NDArray[Any] | None) -> None:
        if isinstance(source, Release):
            self.__dict__.update(source.__dict__)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array[()] if return_scalar else np.asarray(array)


def make_release(values: NDArray[np.float64], **about: Any) -> Release:
    """These values as a release."""
    release = values.view(Release)
    release.__dict__.update(about)
    return release


@dataclass(frozen=True)
class Quote:
    """What a query would cost now, and whether it would be answered; plain numbers in the policy's own units.

    Attributes:
        allowed: whether it would be answered.
        asked, spent, limit: of the entity that has the least left.
        remaining: releases left to it, None where nothing limits them.
        positions: which of the entities do not allow it, as indices.
    """

    allowed: bool
    asked: dict[str, float]
    spent: dict[str, float]
    limit: dict[str, float]
    remaining: int | None
    positions: tuple[int, ...]


@dataclass(frozen=True)
class NewKey:
    """A key that was just made; `text` is what its owner sends, to be had only now and never shown in `repr`."""

    record: dict[str, Any]
    text: str = field(repr=False)

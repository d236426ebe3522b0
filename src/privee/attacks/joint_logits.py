"""The trained parts of a joint model as one function of all parties' columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from privee.attacks.merged_steps import merged_steps
from privee.vfl.embedding_defenses.bottoms import DefendedBottom, noise_width

Shape = tuple[int, ...]


class JointLogits:
    """Splits flat rows among the parties' modules, in the precision that these have."""

    def __init__(self, bottoms: Sequence[nn.Module], top: nn.Module, shapes: Sequence[Shape]) -> None:
        self._bottoms, self._top, self._shapes = bottoms, top, shapes
        self._sizes = [math.prod(shape) for shape in shapes]
        self._precision = next((p.dtype for bottom in bottoms for p in bottom.parameters()), torch.float32)
        self._noise = [noise_width(bottom) for bottom in bottoms[1:]]
        self._last_own: tuple[Tensor, int, Tensor] | None = None
        merged = merged_steps(bottoms, top)
        self._short = None if merged is None else JointLogits(*merged, shapes)

    @property
    def noise_width(self) -> int:
        """How many normal draws the passive parties add to what they send of a record."""
        return sum(self._noise)

    def __call__(
        self, own: Tensor, unknown: Tensor, codes: Tensor | None = None, noise: Tensor | None = None
    ) -> Tensor:
        if self._short is not None and codes is None and noise is None:
            return self._short(own, unknown)
        descends = torch.is_grad_enabled() and unknown.requires_grad and not own.requires_grad
        parts = self._unknown_parts(unknown, codes) if noise is None else self._noisy_parts(unknown, noise)
        return self._joined(self._of_own(own) if descends else self._embedded(own), parts)

    def repeated(self, owns: Sequence[Tensor], unknown: Tensor, times: int) -> list[Tensor]:
        """Each own row with as many unknown ones that follow each other; for several own rows in turn."""
        if self._short is not None:
            return self._short.repeated(owns, unknown, times)
        parts = self._unknown_parts(unknown)
        return [self._joined(self._embedded(own).repeat_interleave(times, dim=0), parts) for own in owns]

    @property
    def places(self) -> list[range]:
        """Of every party's columns among all columns of the model, the active party's first."""
        starts = [sum(self._sizes[:k]) for k in range(len(self._sizes))]
        return [range(start, start + size) for start, size in zip(starts, self._sizes, strict=True)]

    def embeddings(self, own: Tensor, unknown: Tensor, parties: Sequence[int], noise: Tensor | None = None) -> Tensor:
        """What some parties, by number, send for such columns, side by side: (n, numbers)."""
        parts = self._unknown_parts(unknown) if noise is None else self._noisy_parts(unknown, noise)
        sent = [self._embedded(own) if 0 in parties else None, *parts]
        return torch.cat([one.flatten(1) for k in parties if (one := sent[k]) is not None], dim=1).double()

    def _unknown_parts(self, unknown: Tensor, codes: Tensor | None = None) -> list[Tensor]:
        """What the passive parties send; codes are for those that are sealed (`sealed_logits.py`)."""
        return [bottom(rows) for bottom, rows in zip(self._bottoms[1:], self._by_party(unknown), strict=True)]

    def _noisy_parts(self, unknown: Tensor, noise: Tensor) -> list[Tensor]:
        """What they send of records for which these draws were made; without any, it is what they send on average."""
        draws = noise.to(self._precision).split(self._noise, dim=1)
        parts = zip(self._bottoms[1:], self._by_party(unknown), draws, strict=True)
        return [b.sent(rows, e) if isinstance(b, DefendedBottom) else b(rows) for b, rows, e in parts]

    def _by_party(self, unknown: Tensor) -> list[Tensor]:
        flat = unknown.to(self._precision).split(self._sizes[1:], dim=1)
        return [rows.reshape(len(rows), *shape) for rows, shape in zip(flat, self._shapes[1:], strict=True)]

    def _joined(self, own_part: Tensor, parts: Sequence[Tensor]) -> Tensor:
        logits: Tensor = self._top([own_part, *parts])
        return logits.double()

    def _of_own(self, own: Tensor) -> Tensor:
        """The attacker's own part, which thousands of steps of a descent ask for with the same columns.

        Nothing is kept of other calls: where columns are cut anew, what is `own` here may hold a truth.
        """
        last = self._last_own
        if last is None or not _is_same(own, last[0], last[1]):
            self._last_own = last = (own, own._version, self._embedded(own))
        return last[2]

    def _embedded(self, own: Tensor) -> Tensor:
        found: Tensor = self._bottoms[0](own.to(self._precision).reshape(len(own), *self._shapes[0]))
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What was worked out last holds somebody's columns and stays here."""
        return self.__dict__ | {"_last_own": None}


def _is_same(one: Tensor, other: Tensor, version: int) -> bool:
    """The same place in memory, not written to since; whoever keeps `other` keeps that place from being used anew."""
    return (
        one.data_ptr() == other.data_ptr()
        and one.shape == other.shape
        and one.stride() == other.stride()
        and one.dtype == other.dtype
        and one._version == version
    )

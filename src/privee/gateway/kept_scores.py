"""What went into scores and the scores themselves, worked out once for each entity where neither can ever change.

That is so where nobody is asked: sealed parties have handed over their codes, and the active party's table lies in this
process (`--local`) and was read once; or a scorer's rows do. An answer is then a lookup, a release and a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.gateway.score_source import ScoreSource, Worked

MOST_BYTES = 1 << 28
"""Of memory for what is kept; entities beyond it are worked out whenever they are asked about."""
FIRST = 1024


class KeptScores:
    """Used in one event loop.

    Args:
        source: works them out.
        most_bytes: of memory for what is kept.
    """

    def __init__(self, source: ScoreSource, most_bytes: int = MOST_BYTES) -> None:
        self._source, self._most_bytes = source, most_bytes
        self._slots: dict[str, int] = {}
        self._kept: dict[str, NDArray[Any]] = {}
        """By who sent it, and the scores under no name; a row for each slot."""

    def __len__(self) -> int:
        return len(self._slots)

    async def worked_out(self, entities: Sequence[str], columns: NDArray[np.float32] | None = None) -> Worked:
        """As the source says, to the last bit, and with its errors."""
        if columns is not None or not self._source.unchanging:
            return await self._source.worked_out(entities, columns)
        slots = np.fromiter(map(self._slots.get, entities, repeat(-1)), np.int64, len(entities))
        if (slots < 0).any():
            found = await self._source.worked_out(entities)
            if found.failure is None:
                self._keep(entities, found)
            return found
        rows = {name: values[slots] for name, values in self._kept.items()}
        return Worked(rows, rows.pop(""))

    def _keep(self, entities: Sequence[str], found: Worked) -> None:
        parts: dict[str, NDArray[Any]] = {**found.embeddings, "": found.scores}
        most = self._most_bytes // sum(part[0].nbytes for part in parts.values())
        new = {entity: place for place, entity in enumerate(entities) if entity not in self._slots}
        start = len(self._slots)
        new = dict(islice(new.items(), max(0, most - start)))
        end, places = start + len(new), list(new.values())
        for name, part in parts.items():
            kept = self._kept.get(name, part[:0])
            if end > len(kept):
                room = np.empty((min(most, max(FIRST, 2 * end)), *part.shape[1:]), dtype=part.dtype)
                room[:start] = kept[:start]
                self._kept[name] = kept = room
            kept[start:end] = part[places]
        self._slots.update(zip(new, range(start, end), strict=True))

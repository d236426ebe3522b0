"""What the parties sent and the scores made of it, worked out once for each entity where neither can ever change.

That is so where nobody is asked: sealed parties have handed over their codes, and the active party's table lies in this
process (`--local`) and was read once. An answer is then a lookup, a release and a count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.gateway.channel.party_channel import PartyChannel
from privee.gateway.coordinator_model import CoordinatorModel
from privee.gateway.joint_scoring import JointScoring, Scores

MOST_BYTES = 1 << 28
"""Of memory for what is kept; entities beyond it are worked out whenever they are asked about."""
FIRST = 1024


class Worked(NamedTuple):
    """What every party sent for some entities, and their scores."""

    embeddings: Mapping[str, NDArray[np.float32]]
    scores: Scores


class KeptScores:
    """Used in one event loop.

    Args:
        model: joins what the parties send.
        channel: asks them.
        most_bytes: of memory for what is kept.
    """

    def __init__(self, model: CoordinatorModel, channel: PartyChannel, most_bytes: int = MOST_BYTES) -> None:
        self._channel, self._scoring, self._most_bytes = channel, JointScoring(model), most_bytes
        self._slots: dict[str, int] = {}
        self._kept: dict[str, NDArray[Any]] = {}
        """By party, and the scores under no name; a row for each slot."""

    def __len__(self) -> int:
        return len(self._slots)

    async def worked_out(self, entities: Sequence[str], columns: NDArray[np.float32] | None = None) -> Worked:
        """As the channel and the model say, to the last bit, and with their errors."""
        if columns is not None or not self._channel.unchanging:
            return await self._work(entities, columns)
        slots = np.fromiter(map(self._slots.get, entities, repeat(-1)), np.int64, len(entities))
        if (slots < 0).any():
            found = await self._work(entities, None)
            self._keep(entities, found)
            return found
        rows = {name: values[slots] for name, values in self._kept.items()}
        return Worked(rows, rows.pop(""))

    async def _work(self, entities: Sequence[str], columns: NDArray[np.float32] | None) -> Worked:
        embeddings = await self._channel.embeddings(entities, columns)
        return Worked(embeddings, await self._scoring.scores(embeddings))

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

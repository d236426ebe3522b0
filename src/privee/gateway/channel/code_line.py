"""A party that has handed over its codes and gone home: its answers come from a file that was read once."""

from __future__ import annotations

import numpy as np

from privee.gateway.channel.batching import BatchAnswer, Floats
from privee.party.errors import PartyError
from privee.party.wire import About
from privee.version import __version__
from privee.vfl.seal.code_column import CodeColumn


class CodeLine:
    """Stands where a connection to the party would: the same questions, with no network."""

    features = None
    unchanging = True

    def __init__(self, name: str, column: CodeColumn, expected_weights: str | None = None) -> None:
        self.name, self._column, self._expected = name, column, expected_weights

    async def embeddings(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> BatchAnswer:
        """Codes of these entities."""
        self._check()
        codes, unknown = self._column.find(entities)
        return BatchAnswer(codes.astype(np.float32)[:, None], tuple(unknown.nonzero()[0].tolist()))

    async def about(self, expires: float) -> About:
        """What a server of the party would say of itself."""
        self._check()
        return About(self.name, self._column.about.weights, 1, 1, len(self._column), __version__)

    async def close(self) -> None:
        """There is nothing to close."""

    def _check(self) -> None:
        if self._column.about.party != self.name:
            raise PartyError(self.name, "mismatch", f"the codes are those of party {self._column.about.party}")
        if self._expected not in (None, self._column.about.weights):
            raise PartyError(self.name, "mismatch", "the codes are of another version of the model")

"""Where scores come from: one contract for parties with their joint model, and for a scorer that stands alone.

What is behind it (releases, ledger, keys, pages, metrics) knows nothing else of either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.gateway.channel.call_names import CallNames
from privee.gateway.channel.party_channel import PartyHealth
from privee.vfl.seal import Seal
from privee.vfl.worth import ModelWorth

Scores = NDArray[np.float64]


class Worked(NamedTuple):
    """What went into the scores of some entities, by who sent it, and the scores.

    `failure` is set where there are none to release, and that tells something about what went in: it is counted as a
    release is, and raised then.
    """

    embeddings: Mapping[str, NDArray[Any]]
    scores: Scores
    failure: PriveeError | None = None


class ServedModel(Protocol):
    """What is known of a model wherever its scores come from; see `CoordinatorModel`.

    `scorer` says in words what stands where parties would, and is empty for a joint model.
    """

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def parties(self) -> tuple[str, ...]: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def weights(self) -> Mapping[str, str]: ...
    @property
    def worth(self) -> ModelWorth | None: ...
    @property
    def seals(self) -> Mapping[str, Seal]: ...
    @property
    def sealed(self) -> dict[str, dict[str, Any]]: ...
    @property
    def embedding_specs(self) -> dict[str, str]: ...
    @property
    def all_sealed(self) -> bool: ...
    @property
    def scorer(self) -> str: ...


class ScoreSource(Protocol):
    """Answers questions with scores, in one event loop."""

    @property
    def unchanging(self) -> bool:
        """Whether an entity's scores are the same for ever, unless its columns come along."""

    @property
    def features(self) -> int | None:
        """Numbers in a row of `columns`, once that is known."""

    async def worked_out(self, entities: Sequence[str], columns: NDArray[np.float32] | None = None) -> Worked:
        """What went in and what came out for these entities.

        Raises:
            PartyError: somebody did not answer as they should; that is not counted.
            PriveeError: entities or columns are not valid; the message names the place, never an id.
        """

    async def health(self) -> dict[str, PartyHealth]:
        """Whether it can answer, by whose part it is; never raises."""

    async def close(self) -> None:
        """Let go of everything; what is under way fails."""


class Opened(Protocol):
    """A model that was checked and opened, before anybody listens."""

    @property
    def model(self) -> ServedModel:
        """Which."""

    def source(self, calls: CallNames) -> ScoreSource:
        """Begin to answer; `calls` names calls to parties that count for themselves."""

    def discard(self) -> None:
        """Let go of everything where it never began."""

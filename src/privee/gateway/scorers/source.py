"""Scores of a model that stands alone: an entity's row is looked up or comes along, and the scorer is asked."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError
from privee.gateway.channel.party_channel import PartyHealth
from privee.gateway.score_source import Scores, Worked
from privee.gateway.scorers.base import Scorer
from privee.gateway.scorers.errors import MODEL, ScorerError, scorer_error
from privee.gateway.scorers.reading import scores_in
from privee.gateway.scorers.rows import Rows, RowTable
from privee.logs import log
from privee.party.errors import PartyError
from privee.party.stores import StoreError
from privee.version import __version__
from privee.vfl.seal import Seal

LOOKUPS = 4
"""Threads that wait for a database."""


@dataclasses.dataclass(frozen=True)
class ScoredModel:
    """What the gateway knows of a model that stands alone; see `CoordinatorModel`.

    Its one party is whoever serves it: what went into the scores is the entity's row.
    """

    name: str
    version: str
    classes: tuple[str, ...]
    scorer: str
    parties: tuple[str, ...] = (MODEL,)
    worth: None = None
    seals: Mapping[str, Seal] = dataclasses.field(default_factory=dict)
    all_sealed: bool = False

    @property
    def weights(self) -> dict[str, str]:
        """What its health says of it, too."""
        return {MODEL: self.version}

    @property
    def sealed(self) -> dict[str, dict[str, Any]]:
        """Nobody is."""
        return {}

    @property
    def embedding_specs(self) -> dict[str, str]:
        """There are none."""
        return {}


@dataclasses.dataclass(frozen=True, eq=False)
class Scoring:
    """A scorer with all that is needed to make scores of rows.

    Attributes:
        scorer: is asked.
        classes: how many.
        logits: of what it gives a softmax is to be made.
        block: rows are given to it by so many, so that each has the same scores in any company; None: all at once.
        sample: a row to see by whether it works.
    """

    scorer: Scorer
    classes: int
    logits: bool
    block: int | None
    sample: Rows
    _alone: threading.Lock = dataclasses.field(default_factory=threading.Lock, init=False, repr=False)

    def scores(self, rows: Rows) -> Scores:
        """Scores of these rows.

        Raises:
            PartyError: it cannot be asked now.
            Exception: it makes nothing of them, or no scores.
        """
        with self._alone if self.scorer.threads == 1 else contextlib.nullcontext():
            if self.block is None:
                return self._made(rows)
            places = np.minimum(np.arange(-(-len(rows) // self.block) * self.block), len(rows) - 1)
            parts = [
                self._made(Rows(rows.names, rows.values[places[start : start + self.block]]))
                for start in range(0, len(rows), self.block)
            ]
            return np.concatenate(parts)[: len(rows)]

    def _made(self, rows: Rows) -> Scores:
        return scores_in(self.scorer.outputs(rows), len(rows), self.classes, logits=self.logits)


class ScorerSource:
    """Used in one event loop. The work is done in threads, within the deadline.

    Args:
        scoring: makes scores of rows.
        table: of the entities' rows; None: they come with requests.
        deadline: seconds for an answer.
    """

    def __init__(self, scoring: Scoring, table: RowTable | None, deadline: float) -> None:
        self._scoring, self._table, self._deadline = scoring, table, deadline
        waits = table is not None and not table.in_memory
        self._threads = ThreadPoolExecutor(max(scoring.scorer.threads, LOOKUPS if waits else 1), "scorer")

    @property
    def unchanging(self) -> bool:
        """Whether rows were read once, by a model that was, too."""
        return self._table is not None and self._table.in_memory and self._scoring.scorer.threads == 1

    @property
    def features(self) -> int:
        """Numbers in a row that comes with a request: none where there is a table."""
        return len(self._scoring.sample.names) if self._table is None else 0

    async def worked_out(self, entities: Sequence[str], columns: NDArray[np.float32] | None = None) -> Worked:
        """Digests of the rows, and their scores."""
        if self._table is not None and columns is not None:
            raise PriveeError('rows come from the gateway\'s own table: leave out the tensor "columns"')
        if self._table is None:
            self._check(columns)
        return await self._in_thread(self._work, entities, columns)

    async def health(self) -> dict[str, PartyHealth]:
        """Whether a row can be found and scored."""
        started, about = time.perf_counter(), self._scoring.scorer
        rows = len(self._table) if hasattr(self._table, "__len__") else None  # type: ignore[arg-type]
        try:
            await self._in_thread(self._try)
        except PartyError as error:
            return {MODEL: PartyHealth(False, time.perf_counter() - started, error=str(error))}
        facts = {"weights": about.version, "features": self.features or None, "rows": rows, "version": __version__}
        return {MODEL: PartyHealth(True, time.perf_counter() - started, **facts)}  # type: ignore[arg-type]

    async def close(self) -> None:
        """Let go of model and table."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._scoring.scorer.close()
        if self._table is not None:
            self._table.close()

    async def _in_thread(self, work: Callable[..., Any], *args: Any) -> Any:
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work, *args)
        except TimeoutError:
            raise scorer_error("deadline", f"did not answer within {self._deadline:g} s") from None

    def _check(self, columns: NDArray[np.float32] | None) -> None:
        if columns is None:
            raise PriveeError('rows come with requests here: send the tensor "columns", one row per entity')
        if columns.ndim != 2 or columns.shape[1] != self.features:
            raise PriveeError(f"columns must have {self.features} features, those of the model")

    def _work(self, entities: Sequence[str], columns: NDArray[np.float32] | None) -> Worked:
        rows = self._rows(entities) if columns is None else Rows(self._scoring.sample.names, columns.astype(np.float64))
        sent = {MODEL: rows.digests}
        try:
            return Worked(sent, self._scoring.scores(rows))
        except PartyError:
            raise
        except Exception as error:
            # Whether these rows can be scored tells something about them, so it is counted as a release is.
            log("rows not scored", level=logging.WARNING, reason=type(error).__name__, count=len(rows))
            failure = ScorerError("refused", "made no scores of these rows")
            return Worked(sent, np.empty((0, self._scoring.classes)), failure)

    def _rows(self, entities: Sequence[str]) -> Rows:
        assert self._table is not None  # noqa: S101
        try:
            rows, unknown = self._table.find(entities)
        except StoreError as error:
            log("rows not found", level=logging.WARNING, reason=str(error))
            raise scorer_error("unreachable", "has no rows now: their table cannot be read") from None
        if unknown:
            raise ScorerError("unknown-entity", f"has no row of {len(unknown)} of the entities asked for", unknown)
        return rows

    def _try(self) -> None:
        """In the process a row is scored; another server is asked whether it is ready."""
        self._scoring.scorer.check()
        if self._table is not None and not self._table.in_memory:
            try:
                self._table.sample()
            except StoreError:
                raise scorer_error("unreachable", "has no rows now: their table cannot be read") from None
        if self._scoring.scorer.threads > 1:
            return
        try:
            self._scoring.scores(self._scoring.sample)
        except PartyError:
            raise
        except Exception as error:
            raise ScorerError("refused", f"cannot score a row ({type(error).__name__})") from None

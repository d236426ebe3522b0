"""A scorer and its table, opened and tried on one row before anybody listens."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath

import numpy as np

from privee.errors import PriveeError, ScoreError, SettingError
from privee.gateway.channel.call_names import CallNames
from privee.gateway.scorers.base import Scorer, open_scorer
from privee.gateway.scorers.rows import Rows, RowTable, open_rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.gateway.scorers.source import ScoredModel, ScorerSource, Scoring
from privee.gateway.settings import GatewaySettings
from privee.party.errors import PartyError

BLOCK = 32
"""Rows given to a scorer at once where draws are repeatable, as they are keyed by the scores to the last bit."""
FROM_TABLE = "rows from the gateway's own table"
FROM_REQUEST = "rows as whoever asks sends them"


@dataclasses.dataclass(frozen=True, eq=False)
class OpenedScorer:
    """A model that stands alone, tried on one row."""

    model: ScoredModel
    scoring: Scoring
    table: RowTable | None
    deadline: float

    def source(self, calls: CallNames) -> ScorerSource:
        """Begin to answer; there are no calls to parties."""
        return ScorerSource(self.scoring, self.table, self.deadline)

    def discard(self) -> None:
        """Let go of model and table."""
        self.scoring.scorer.close()
        if self.table is not None:
            self.table.close()


def open_scored(settings: GatewaySettings, given: ScorerSettings) -> OpenedScorer:
    """Open what the settings name."""
    scorer, table = open_scorer(given, settings.deadline), None
    try:
        if given.rows is not None:
            table = _table(scorer, given, given.rows)
        sample = _sample(scorer, given, table)
        classes = _classes(scorer, given, sample)
        block = BLOCK if settings.repeatable and scorer.by_blocks else None
        scoring = Scoring(scorer, len(classes), given.logits, block, sample)
        _try(scoring)
    except BaseException:
        scorer.close()
        if table is not None:
            table.close()
        raise
    words = f"{scorer.words}; {FROM_REQUEST if table is None else FROM_TABLE}"
    model = ScoredModel(settings.name or _name(given.given), scorer.version, classes, words)
    return OpenedScorer(model, scoring, table, settings.deadline)


def _table(scorer: Scorer, given: ScorerSettings, rows: str) -> RowTable:
    table = open_rows(rows, str(given.id_column), given.table, given.columns or scorer.names or ())
    if scorer.features not in (None, len(table.names)):
        table.close()
        raise SettingError(
            f"the model takes {scorer.features} columns, and the table has {len(table.names)} beside its id: name "
            "those it takes, in its order, with --columns"
        )
    return table


def _sample(scorer: Scorer, given: ScorerSettings, table: RowTable | None) -> Rows:
    """A row to try: one of the table's, or zeros."""
    if table is not None:
        sample = table.sample()
        if not len(sample):
            raise SettingError("the table of --rows has no row that can be read")
        return sample
    said = {count for count in (scorer.features, given.features, len(given.columns) or None) if count is not None}
    if not said:
        raise SettingError("how many numbers are in a row? Give --features, or the rows themselves with --rows")
    if len(said) > 1:
        wide = scorer.features or given.features
        raise SettingError(f"a row of this model has {wide} numbers, and --features or --columns say otherwise")
    width = said.pop()
    names = given.columns or scorer.names or tuple(map(str, range(width)))
    return Rows(names, np.zeros((1, width)))


def _classes(scorer: Scorer, given: ScorerSettings, sample: Rows) -> tuple[str, ...]:
    """As they were named; else as the model names them, or numbers."""
    if not given.classes and scorer.classes is None:
        found = _asked(scorer, sample)
        width = found.shape[1] if found.ndim == 2 else 1
        return scorer.classes or tuple(map(str, range(max(2, width))))
    if given.classes and scorer.classes is not None and len(given.classes) != len(scorer.classes):
        raise SettingError(f"--classes names {len(given.classes)}; the model has {len(scorer.classes)}")
    return given.classes or scorer.classes or ()


def _asked(scorer: Scorer, sample: Rows) -> np.ndarray:
    try:
        return np.asarray(scorer.outputs(sample))
    except PartyError:
        raise
    except Exception as error:
        raise _cannot(error) from None


def _try(scoring: Scoring) -> None:
    """One row must do; the operator may read why it does not."""
    try:
        scoring.scores(scoring.sample)
    except PartyError:
        raise
    except ScoreError as error:
        hint = "" if scoring.logits else "; if these are logits, say --logits"
        raise SettingError(f"the model's outputs are no scores: {error}{hint}") from None
    except Exception as error:
        raise _cannot(error) from None


def _cannot(error: Exception) -> SettingError:
    if isinstance(error, SettingError):
        return error
    if isinstance(error, PriveeError):
        return SettingError(f"the model cannot score a row: {error}")
    words = " ".join(str(error).split())[:200]
    return SettingError(f"the model cannot score a row ({type(error).__name__}: {words})")


def _name(given: str) -> str:
    """The file's, the function's, or the other server's."""
    if "://" in given:
        return given.rstrip("/").rpartition("/")[2]
    return given.rpartition(":")[2] if ":" in given else PurePath(given).stem

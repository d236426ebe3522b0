"""Releases in place of the scores in a table that has other columns too: `privee protect`, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privee.defenses.base import Defense
from privee.defenses.registry import defense as make_defense
from privee.defenses.repeatable import Repeatable
from privee.errors import ScoreError, SettingError
from privee.randomness import Draws
from privee.scores.columns import choose_columns, name_of_other
from privee.scores.frames import Frame, as_frame


def protect(
    table: Any,
    defense: Defense | Repeatable | str,
    *,
    keep: Sequence[str] = (),
    scores: Sequence[str] = (),
    entities: str | None = None,
    draws: Draws | None = None,
    check_sum: bool = True,
) -> Any:
    """The same table with releases in place of its scores; index, other columns, their order and dtypes are kept.

    Every column is a score unless it is named in `keep`, or is called id (or ends in _id). One score column p alone is
    read as two classes, 1 - p and p, and the release has both.

    Args:
        table: a pandas or polars DataFrame, a pyarrow Table or RecordBatch.
        defense: a defense, a spec such as "ordered-dp:epsilon=4", or a `Repeatable`.
        keep: columns to keep as they are; names or patterns such as `name_*`.
        scores: the score columns, if not all others.
        entities: for a `Repeatable`, the column with the entities' ids, which is kept.
        draws: secure unless given.
        check_sum: False accepts rows that do not sum to one.
    """
    frame = as_frame(table)
    if frame is None:
        raise SettingError(
            "protect takes a pandas or polars DataFrame or a pyarrow Table; defense.release takes arrays"
        )
    called = {str(label): label for label in frame.labels}
    chosen = choose_columns(list(called), (*keep, *(() if entities is None else (entities,))), scores)
    labels = [called[name] for name in chosen.scores]
    rows, order = frame.matrix(labels), list(frame.labels)
    if len(labels) == 1:
        rows = _two_classes(rows)
        other = name_of_other(str(labels[0]), list(called))
        order.insert(order.index(labels[0]), other)
        labels = [other, *labels]
    release = _released(frame, rows, defense, entities and called[entities], draws, check_sum)
    return frame.replaced(dict(zip(labels, release.T, strict=True)), order)


def _released(frame: Frame, rows: Any, defense: Any, entities: Any, draws: Draws | None, check_sum: bool) -> Any:
    if isinstance(defense, Repeatable):
        if entities is None or draws is not None:
            raise SettingError("repeatable draws want the column of ids that entities= names, and no draws=")
        return defense.release(rows, entities=frame.column(entities), check_sum=check_sum)
    if entities is not None:
        raise SettingError("entities= is for repeatable draws; keep= keeps a column")
    made = make_defense(defense) if isinstance(defense, str) else defense
    return made.release(rows, draws=draws, check_sum=check_sum)


def _two_classes(rows: Any) -> Any:
    wrong = ~((rows[:, 0] >= 0) & (rows[:, 0] <= 1))  # a NaN is wrong too
    if wrong.any():
        what = "is not from 0 to 1, and a single score column must hold the probabilities of one class"
        raise ScoreError(what, row=int(np.argmax(wrong)))
    return np.concatenate([1 - rows, rows], axis=1)

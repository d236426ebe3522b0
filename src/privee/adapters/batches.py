"""Where a table outgrows one machine: one function of Arrow batches, for Ray Data, Spark, Dask or a plain loop.

Draws are keyed by a secret key and by what a release depends on: entity, scores, defense, model version. So each row
gets the same release wherever and however often its partition is worked on, and all are those of one process.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from privee.extras import require

require("privee.adapters.batches", "pyarrow", extra="cli")

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from privee.defenses import Defense, Repeatable
from privee.defenses import defense as make_defense
from privee.defenses.secret_keys import check_key, read_key
from privee.errors import PriveeError, SettingError

__all__ = ["Batches", "release_batches"]


@dataclasses.dataclass(frozen=True, eq=False)
class Batches:
    """Takes Arrow batches or tables, frames of pandas, or an iterator of any of them, and gives back the like.

    Made with `release_batches`. It is sent to workers as it is: with the path of a key file, which each of them reads,
    or with the key itself, which is then in what the engine sends and stores.
    """

    defense: Defense
    columns: tuple[str, ...]
    id_column: str
    model_version: str
    key: bytes | str = dataclasses.field(repr=False)
    check_sum: bool = True
    _made: dict[str, Repeatable] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def __call__(self, batch: Any) -> Any:
        """The same with releases in place of the scores; all other columns are kept."""
        if isinstance(batch, pa.RecordBatch):
            return self._arrow(batch)
        if isinstance(batch, pa.Table):
            return self._arrow(batch.combine_chunks())
        if hasattr(batch, "iloc"):
            return self._frame(batch)
        if isinstance(batch, Iterator):
            return map(self, batch)
        raise SettingError("give Arrow batches or tables, a frame of pandas, or an iterator of them")

    def __dask_tokenize__(self) -> tuple[str, ...]:
        """What Dask tells functions apart by; of the key a hash, since it is part of names that Dask shows."""
        key = self.key if isinstance(self.key, str) else hashlib.sha256(b"privee dask" + self.key).hexdigest()
        return (self.defense.spec, *self.columns, self.id_column, self.model_version, str(self.check_sum), key)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is made anew in each process."""
        return {name: value for name, value in self.__dict__.items() if name != "_made"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        """As it was, with nothing made."""
        self.__dict__.update(state, _made={})

    def _arrow(self, batch: Any) -> Any:
        names = batch.schema.names
        places = [_place(names, column) for column in self.columns]
        ids = _texts(batch.column(_place(names, self.id_column)), self.id_column)
        scores = _scores({names[place]: batch.column(place) for place in places})
        release = self._released(ids, scores)
        for place, values in zip(places, release.T, strict=True):
            kind = batch.schema.field(place).type
            batch = batch.set_column(place, batch.schema.field(place), pa.array(values).cast(kind))
        return batch

    def _frame(self, frame: Any) -> Any:
        names = list(frame.columns)
        for column in (*self.columns, self.id_column):
            _place(names, column)
        if not len(frame):  # of no rows pandas may not tell the type
            return frame
        ids = _texts(_arrow_of(frame, self.id_column), self.id_column)
        scores = _scores({name: _arrow_of(frame, name) for name in self.columns})
        release, made = self._released(ids, scores), frame.copy()
        for name, values in zip(self.columns, release.T, strict=True):
            made[name] = values.astype(np.float64)
        return made.astype({name: frame[name].dtype for name in self.columns})

    def _released(self, ids: list[str], scores: NDArray[Any]) -> NDArray[Any]:
        if not len(scores):
            return scores
        released: NDArray[Any] = self._repeatable().release(scores, entities=ids, check_sum=self.check_sum)
        return released

    def _repeatable(self) -> Repeatable:
        if "" not in self._made:
            key = read_key(self.key) if isinstance(self.key, str) else self.key
            self._made[""] = Repeatable(self.defense, key=key, model_version=self.model_version)
        return self._made[""]


def release_batches(
    defense: Defense | str,
    *,
    columns: Sequence[str],
    id_column: str,
    key: bytes | str | os.PathLike[str],
    model_version: str,
    check_sum: bool = True,
) -> Batches:
    """A function for an engine's batches.

    Args:
        defense: a defense, or a spec such as "ordered-dp:epsilon=4".
        columns: those with scores, in the order of the classes.
        id_column: that with the entities' ids, as text or whole numbers; 7 and "7" are one.
        key: a file that all workers can read and nobody else, or at least 16 secret bytes; see `privee.new_key`. With
            another key the same rows get other releases, that is one more release of each.
        model_version: names the model; change it whenever the model changes.
        check_sum: False accepts rows that do not sum to one.

    Example:
        >>> import privee, pyarrow as pa
        >>> given = {"columns": ["no", "yes"], "id_column": "id", "model_version": "1"}
        >>> release = release_batches("rounding:digits=1", key=privee.new_key(), **given)
        >>> release(pa.table({"id": [7], "no": [0.74], "yes": [0.26]})).to_pylist()
        [{'id': 7, 'no': 0.7, 'yes': 0.3}]
    """
    made = make_defense(defense) if isinstance(defense, str) else defense
    names = tuple(columns)
    if isinstance(columns, str) or len(names) < 2 or len(set(names)) < len(names) or id_column in names:
        raise SettingError("columns must name two score columns or more, each once, and not the id's")
    if isinstance(key, bytes):
        check_key(key)
    held = key if isinstance(key, bytes) else os.fspath(key)
    Repeatable(made, key=b"0" * 32, model_version=model_version)  # says what is wrong with these here, not on a worker
    return Batches(made, names, id_column, model_version, held, check_sum)


def _place(names: Sequence[str], wanted: str) -> int:
    if list(names).count(wanted) != 1:
        raise PriveeError(f"the batch has no column {wanted!r}, or two; its columns are {', '.join(map(str, names))}")
    return list(names).index(wanted)


def _arrow_of(frame: Any, name: str) -> Any:
    try:
        return pa.array(frame[name], from_pandas=True)
    except pa.ArrowException:
        raise PriveeError(f"the column {name!r} holds values of different kinds; give all of them one type") from None


def _scores(columns: Mapping[str, Any]) -> NDArray[Any]:
    """(rows, classes) in the columns' own precision, which must be one: rounding could merge what was kept apart."""
    for name, column in columns.items():
        if column.null_count or column.type not in (pa.float32(), pa.float64()):
            raise PriveeError(f"the column {name!r} must hold floating-point numbers, and none may be missing")
    if len({column.type for column in columns.values()}) > 1:
        raise PriveeError("the score columns must be of one type, single or double precision")
    return np.column_stack([np.asarray(column) for column in columns.values()])


def _texts(column: Any, name: str) -> list[str]:
    """Ids as text, so that every engine means the same entity."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    if column.null_count or not (text or pa.types.is_integer(kind)):
        raise PriveeError(f"the column {name!r} must hold ids, text or whole numbers, and none may be missing")
    found: list[str] = pc.cast(column, pa.large_string()).to_pylist()
    return found

"""Where a party's columns come from: a file read once, a dataset, or a table in a database (see sql_store.py).

A store finds encoded columns by entity, encoded exactly as `privee predict` encodes them. It knows the entities that
all parties hold (the aligned ones) and no other: whoever asks is not told whose customer somebody else is.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from privee.data.alignment.ids import checked_ids
from privee.data.tables import ALIGNED, AlignedIds, Preprocessing, read_party_table
from privee.errors import PriveeError, UnavailableError
from privee.vfl.run_format import PartyDescription

DATASET = "dataset"
ALL = "all"


class StoreError(UnavailableError):
    """The store cannot answer now."""


class Found(NamedTuple):
    """Encoded columns (n, ...), zeros where the entity is unknown, and which are."""

    columns: NDArray[np.float32]
    unknown: NDArray[np.bool_]


class Store(Protocol):
    """Finds a party's columns."""

    @property
    def rows(self) -> int | None:
        """How many entities there are; None where that is not known."""

    def find(self, entities: Sequence[str]) -> Found:
        """Encoded columns of these entities."""

    def close(self) -> None:
        """Let go of connections."""


class MemoryStore:
    """All rows in memory."""

    def __init__(self, ids: Sequence[str], columns: NDArray[np.float32]) -> None:
        self._places: Mapping[str, int] = {entity: row for row, entity in enumerate(ids)}
        self._columns = columns

    @property
    def rows(self) -> int:
        """How many entities there are."""
        return len(self._places)

    def find(self, entities: Sequence[str]) -> Found:
        """Encoded columns of these entities."""
        places = np.fromiter(map(self._places.get, entities, repeat(-1)), np.int64, len(entities))
        unknown = places < 0
        columns = self._columns[places]
        columns[unknown] = 0
        return Found(columns, unknown)

    def close(self) -> None:
        """Nothing to let go of."""


def in_memory(store: Store) -> bool:
    """Whether nothing has to be waited for to find columns."""
    return isinstance(store, MemoryStore) or (isinstance(store, AlignedStore) and in_memory(store.within))


@dataclasses.dataclass(frozen=True)
class Source:
    """What the party was told to serve from.

    Attributes:
        data: A CSV or Parquet file, the address of a database, or `dataset`.
        table: In a database: the table's name.
        id_column: Where it is not called as in training.
        data_dir: Folder with dataset files.
        aligned: A file with the ids that all parties hold, in place of the run's; `all` answers for every id.
    """

    data: str = dataclasses.field(repr=False)  # may hold a password
    table: str | None = None
    id_column: str | None = None
    data_dir: Path | None = None
    aligned: str | None = None


class AlignedStore:
    """A store of which only the aligned entities are known: it is not even asked for others."""

    def __init__(self, store: Store, aligned: AlignedIds, features: int) -> None:
        self.within, self._aligned, self._features = store, aligned, features

    @property
    def rows(self) -> int | None:
        """How many entities there are."""
        return self.within.rows

    def find(self, entities: Sequence[str]) -> Found:
        """Encoded columns of these entities."""
        asked = np.flatnonzero(self._aligned.mask(entities))
        found = Found(np.zeros((len(entities), self._features), dtype=np.float32), np.ones(len(entities), dtype=bool))
        if len(asked):
            found.columns[asked], found.unknown[asked] = self.within.find([entities[place] for place in asked.tolist()])
        return found

    def close(self) -> None:
        """Let go of connections."""
        self.within.close()


def open_store(folder: Path, about: PartyDescription, source: Source) -> Store:
    """The store that a source stands for, checked against the party's part of the model."""
    if source.data == DATASET:
        if source.aligned is not None:
            raise PriveeError("--aligned is for own tables; of a dataset every row is aligned")
        return _dataset_store(about, source.data_dir)
    id_column = source.id_column or about.id_column
    if id_column is None:
        raise PriveeError(
            f"party {about.party} was trained on the dataset {about.dataset}: serve it with --data {DATASET}"
        )
    fitted = read_preprocessing(folder, about)
    aligned = _aligned(folder, about, source)
    if "://" in source.data:
        from privee.party.sql_store import SqlStore

        if source.table is None:
            raise PriveeError("which table of the database? Give --table NAME")
        store = SqlStore(source.data, source.table, id_column, fitted)
        return store if aligned is None else AlignedStore(store, aligned, about.features)
    if source.table is not None:
        raise PriveeError("--table is for a database; --data names a file")
    return _file_store(Path(source.data), about, id_column, fitted, aligned)


def _aligned(folder: Path, about: PartyDescription, source: Source) -> AlignedIds | None:
    """The ids to answer for; None for every id."""
    if source.aligned == ALL:
        return None
    names = [name for name in (source.id_column, about.id_column) if name is not None]
    if source.aligned is not None:
        return AlignedIds.read(Path(source.aligned), names)
    path = folder / ALIGNED
    if not path.is_file():
        raise PriveeError(
            f"{folder} holds no {ALIGNED}, so it is not known which ids all parties hold: train again, give them with "
            f"--aligned FILE (`privee align` writes one), or --aligned {ALL} to answer for every id, which tells those "
            "who ask whom this party knows"
        )
    return AlignedIds.read(path, names[::-1])


def read_preprocessing(folder: Path, about: PartyDescription) -> Preprocessing:
    """The party's own preprocessing, without what was constant in training: that is not needed any more."""
    path = folder / "preprocessing.json"
    try:
        saved = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PriveeError(f"{path} is missing") from None
    except (ValueError, RecursionError):
        raise PriveeError(f"{path} is damaged: it is not readable JSON") from None
    fitted = Preprocessing.from_dict(saved)
    if len(fitted.feature_names) != about.features:
        raise PriveeError(f"{path} does not fit the model: it makes {len(fitted.feature_names)} features of a row")
    return dataclasses.replace(fitted, dropped=())


def _file_store(
    path: Path, about: PartyDescription, id_column: str, fitted: Preprocessing, aligned: AlignedIds | None
) -> MemoryStore:
    table = read_party_table(path, id_column=id_column, kinds=fitted.kinds, delimiter=about.delimiter)
    ids = checked_ids(table.ids, about.party)
    if aligned is not None:
        kept = np.flatnonzero(aligned.mask(ids))
        if not len(kept):
            raise PriveeError(f"{path.name} holds none of the ids that all parties hold")
        table = table.take(kept)
    # A table may hold more than the model needs: labels, constant columns, what came later.
    needed = {name: column for name, column in table.columns.items() if name in fitted.kinds}
    return MemoryStore(table.ids, fitted.apply(dataclasses.replace(table, columns=needed)))


def _dataset_store(about: PartyDescription, data_dir: Path | None) -> MemoryStore:
    """Entities are row numbers, over training rows and then test rows, as in `privee predict`."""
    if about.dataset is None or about.part is None:
        raise PriveeError(f"party {about.party} was trained on its own table: give it with --data FILE")
    from privee.data.datasets import load_dataset

    dataset = load_dataset(about.dataset, data_dir=data_dir, seed=about.seed)
    columns = about.part.take(np.concatenate([dataset.x_train, dataset.x_test]))
    return MemoryStore([str(row) for row in range(len(columns))], columns)

"""Columns of several parties in one aligned order: from a named dataset, or from the parties' own tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.alignment import align
from privee.data.columns import SourceColumn, columns_of_dataset, columns_of_tables
from privee.data.datasets import Dataset
from privee.data.partition import Partition
from privee.data.tables import (
    ALIGNED,
    Labels,
    PartyTable,
    Preprocessing,
    fit_labels,
    fit_preprocessing,
    read_party_table,
)
from privee.errors import PriveeError
from privee.progress import Progress
from privee.randomness import seeded

Rows = NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class JointData:
    """What a joint model is trained on, party by party; the first party is the active one.

    Attributes:
        columns: each party's columns, (n, ...) float32 in [0, 1].
        labels: 0..K-1, held by the active party; -1 where a new record's class is not known.
        class_names: what the labels stand for.
        train, test: row numbers.
        about: where this came from, ready for a run's config.
        private: per party, files that stay with its part of the model, by name (see `runs.write_private`).
        ids: the active party's record ids, if there are any.
        described: every original column, with its party and its features in a row of all columns.
        seen: which records the model was trained on, if that can be told: what it is worth shows on others.
    """

    columns: Mapping[str, np.ndarray]
    labels: Rows
    class_names: tuple[str, ...]
    train: Rows
    test: Rows
    about: Mapping[str, Any]
    private: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    ids: tuple[str, ...] | None = None
    described: tuple[SourceColumn, ...] = ()
    seen: NDArray[np.bool_] | None = None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which records' classes are known."""
        return self.labels >= 0

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of one row at each party."""
        return {name: values.shape[1:] for name, values in self.columns.items()}


def from_dataset(dataset: Dataset, partition: Partition) -> JointData:
    """Give a dataset's columns to parties."""
    both = {
        part.name: np.concatenate([part.take(dataset.x_train), part.take(dataset.x_test)]) for part in partition.parts
    }
    count = len(dataset.y_train)
    return JointData(
        columns=both,
        labels=np.concatenate([dataset.y_train, dataset.y_test]),
        class_names=dataset.class_names,
        train=np.arange(count),
        test=np.arange(count, count + len(dataset.y_test)),
        about={"dataset": dataset.name, "partition": partition.as_dict(), "shares": partition.describe()},
        described=columns_of_dataset(dataset, partition),
        seen=np.arange(count + len(dataset.y_test)) < count,
    )


def from_tables(
    files: Mapping[str, Path],
    *,
    active: str,
    id_columns: Mapping[str, str],
    label: str,
    test_share: float,
    seed: int,
    progress: Progress | None = None,
) -> JointData:
    """Align the parties' tables, fit each party's preprocessing on its own training rows, and encode.

    Nothing of a party's preprocessing is seen by another: each is fitted on that party's columns alone.
    """
    order = [active, *(name for name in files if name != active)]
    read = {name: _read(files[name], name, id_columns, label if name == active else None) for name in order}
    tables = _aligned(read, progress)
    labels = fit_labels(tables[active].labels or [])
    count = len(tables[active])
    train, test = split_rows(count, test_share, seed)
    fitted = {name: fit_preprocessing(table.take(train)) for name, table in tables.items()}
    private: dict[str, dict[str, Any]] = {
        name: {"preprocessing.json": fitted[name].as_dict(), ALIGNED: {id_columns[name]: table.ids}}
        for name, table in tables.items()
    }
    private[active]["labels.json"] = labels.as_dict()
    return JointData(
        columns={name: fitted[name].apply(table) for name, table in tables.items()},
        labels=labels.encode(tables[active].labels or []),
        class_names=labels.classes,
        train=train,
        test=test,
        about={"tables": {"parties": order, "id_columns": dict(id_columns), "label": label, "test_share": test_share}},
        private=private,
        ids=tuple(tables[active].ids),
        described=columns_of_tables(fitted.items()),
        seen=np.isin(np.arange(count), train),
    )


def split_rows(count: int, test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows of aligned tables; every role that computes them gets the same."""
    shuffled = np.argsort(seeded(seed, "test rows").uniform(count), kind="stable")
    held = round(count * test_share)
    if not 0 < held < count:
        raise PriveeError(f"{count} common records are too few to keep {test_share:.0%} of them for testing")
    return np.sort(shuffled[held:]), np.sort(shuffled[:held])


def new_rows(
    files: Mapping[str, Path],
    about: Mapping[str, Any],
    private: Mapping[str, Mapping[str, Any]],
    *,
    trained_on: Collection[str] | None = None,
) -> JointData:
    """Encode new tables for a trained model, with each party's saved preprocessing.

    Labels are not needed. Where the active party's table has the label column all the same, they are read; a record
    whose label is missing, or none of the model's classes, is one without a label.

    Args:
        files: each party's table.
        about: what the run says of its data.
        private: each party's saved files.
        trained_on: ids of the records that the model was trained on, if they are known.
    """
    saved = about["tables"]
    missing = [name for name in saved["parties"] if name not in files]
    if missing:
        raise PriveeError(f"the model needs the columns of {', '.join(missing)} as well: add --party {missing[0]}=FILE")
    fitted = {name: Preprocessing.from_dict(private[name]["preprocessing.json"]) for name in saved["parties"]}
    active = saved["parties"][0]
    read = {name: _read_new(files[name], name, saved, fitted[name]) for name in saved["parties"]}
    tables = _aligned(read)
    ids, count = tables[active].ids, len(tables[active])
    classes = Labels.from_dict(private[active]["labels.json"])
    return JointData(
        columns={name: fitted[name].apply(table) for name, table in tables.items()},
        labels=classes.encode_known(tables[active].labels or [None] * count),
        class_names=classes.classes,
        train=np.arange(0),
        test=np.arange(count),
        about=about,
        described=columns_of_tables(fitted.items()),
        ids=ids,
        seen=None if trained_on is None else np.fromiter((one in trained_on for one in ids), bool, count),
    )


def _read(path: Path, name: str, id_columns: Mapping[str, str], label: str | None) -> PartyTable:
    return read_party_table(path, id_column=id_columns[name], label_column=label)


def _read_new(path: Path, name: str, saved: Mapping[str, Any], fitted: Preprocessing) -> PartyTable:
    """New tables may still carry the label column; it is not a feature."""
    label = saved["label"] if name == saved["parties"][0] else None
    table = read_party_table(
        path, id_column=saved["id_columns"][name], label_column=label, label_optional=True, kinds=fitted.kinds
    )
    columns = {key: column for key, column in table.columns.items() if key != saved["label"] or key in fitted.kinds}
    return dataclasses.replace(table, columns=columns)


def _aligned(tables: Mapping[str, PartyTable], progress: Progress | None = None) -> dict[str, PartyTable]:
    """Bring the parties' rows into one order by private set intersection."""
    active = next(iter(tables))
    found = align({name: table.ids for name, table in tables.items()}, active=active, progress=progress)
    return {name: table.take(found.rows[name]) for name, table in tables.items()}

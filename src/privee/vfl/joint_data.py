"""Columns of several parties in one aligned order, from a named dataset or the parties' own tables (`own_tables`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.columns import SourceColumn, columns_of_dataset
from privee.data.datasets import Dataset
from privee.data.partition import Partition
from privee.errors import PriveeError
from privee.randomness import seeded
from privee.vfl.tables_report import TablesReport

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
        whole_ids: whether the ids are whole numbers, and written as such.
        report: how the parties' tables were read and matched, for whoever is about to train on them.
        handed_over: codes of the records, by party, of those who have handed them over; their columns are not known.
        coded: which records have a code of each of them; None where nobody has handed codes over.
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
    whole_ids: bool = False
    report: TablesReport | None = None
    handed_over: Mapping[str, NDArray[np.uint8]] = dataclasses.field(default_factory=dict)
    coded: NDArray[np.bool_] | None = None

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


def split_known(known: NDArray[np.bool_], test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows among the records with a label."""
    places = np.flatnonzero(known)
    train, test = split_rows(len(places), test_share, seed)
    return places[train], places[test]


def split_rows(count: int, test_share: float, seed: int) -> tuple[Rows, Rows]:
    """Training and test rows of aligned tables; every role that computes them gets the same."""
    shuffled = np.argsort(seeded(seed, "test rows").uniform(count), kind="stable")
    held = round(count * test_share)
    if not 0 < held < count:
        raise PriveeError(f"{count} common records are too few to keep {test_share:.0%} of them for testing")
    return np.sort(shuffled[held:]), np.sort(shuffled[:held])

"""A site's own columns: from its table, brought into the aligned order, or its share of a named dataset.

For the alignment it plays the part of `privee.data.alignment`'s aligners; their messages are carried as notes.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.alignment import ActiveAligner, PassiveAligner
from privee.data.columns import SourceColumn, columns_of_dataset, columns_of_tables
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.data.tables import ALIGNED, PartyTable, fit_labels, read_party_table
from privee.data.tables.aligned import AlignedList
from privee.errors import PriveeError
from privee.federation.settings import JobSettings, SiteSettings
from privee.federation.wire.frames import Note
from privee.vfl.joint_data import Rows, split_rows
from privee.vfl.matched_tables import encoded, fitted_columns


@dataclasses.dataclass(frozen=True, eq=False)
class SiteData:
    """What a site trains on; labels and classes at the active party alone.

    Attributes:
        columns: (n, ...) float32 in [0, 1].
        train: numbers of the rows for training.
        digest: of the records in their order, to notice that a table changed between two attempts.
        labels, classes: class numbers and what they stand for.
        private: files that stay with the site's part of the model.
        about: lines for its party.json.
        ids: of the records; None for a dataset, whose rows have numbers alone.
        described: its original columns, and where their features are.
    """

    columns: np.ndarray
    train: Rows
    digest: str
    labels: Rows | None = None
    classes: tuple[str, ...] = ()
    private: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    about: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    ids: tuple[str, ...] | None = dataclasses.field(default=None, repr=False)
    described: tuple[SourceColumn, ...] = ()

    @functools.cached_property
    def trained_on(self) -> NDArray[np.bool_]:
        """Of every row, whether it is for training."""
        found = np.zeros(len(self.columns), dtype=bool)
        found[self.train] = True
        return found


def own_table(settings: SiteSettings, *, active: bool) -> PartyTable:
    """The site's table, as its own settings name it."""
    if settings.data is None or settings.id_column is None:
        raise PriveeError("no table is named here; run `privee federation data KIT --data FILE --id COLUMN`")
    if active and settings.label is None:
        raise PriveeError("the active party needs a label column; run `privee federation data KIT ... --label COLUMN`")
    if not active and settings.label is not None:
        raise PriveeError("this site names a label column, but the job gives the labels to another party")
    return read_party_table(settings.data, id_column=settings.id_column, label_column=settings.label)


def from_table(
    table: PartyTable, rows: Rows, party: str, settings: SiteSettings, *, test_share: float, seed: int
) -> SiteData:
    """Aligned and encoded; the preprocessing is fitted on the site's own training rows."""
    aligned = table.take(rows)
    train, _ = split_rows(len(aligned), test_share, seed)
    fitted = fitted_columns(aligned, train)
    digest = hashlib.sha256("\0".join(aligned.ids).encode())
    columns = encoded(aligned, fitted)
    digest.update(columns.tobytes())
    found = SiteData(
        columns,
        train,
        digest.hexdigest(),
        private={
            "preprocessing.json": fitted.as_dict(),
            ALIGNED: AlignedList(str(settings.id_column), aligned.ids),
        },
        about={"id_column": settings.id_column},
        ids=aligned.ids,
        described=columns_of_tables([(party, fitted)]),
    )
    if aligned.labels is None:
        return found
    classes = fit_labels(aligned.labels)
    private = {**found.private, "labels.json": classes.as_dict()}
    labels = classes.encode(aligned.labels)
    return dataclasses.replace(found, labels=labels, classes=classes.classes, private=private)


def from_named(source: Mapping[str, Any], place: int, settings: SiteSettings, seed: int) -> SiteData:
    """This party's features of a dataset; the first party has the labels."""
    dataset = load_dataset(source["dataset"], data_dir=settings.data_dir, seed=seed)
    partition = Partition.from_dict(dict(source["partition"]))
    part = partition.parts[place]
    columns = np.concatenate([part.take(dataset.x_train), part.take(dataset.x_test)])
    found = SiteData(
        columns,
        np.arange(len(dataset.y_train)),
        hashlib.sha256(columns.tobytes()).hexdigest(),
        about={"dataset": dataset.name, "seed": seed, "part": source["partition"]["parts"][place]},
        described=columns_of_dataset(dataset, partition),
    )
    if place:
        return found
    labels = np.concatenate([dataset.y_train, dataset.y_test])
    return dataclasses.replace(found, labels=labels, classes=dataset.class_names)


class SiteAlignment:
    """The aligner of this site for one job; the coordinator passes blinded messages on and reads none of them."""

    def __init__(self, table: PartyTable, name: str, job: JobSettings) -> None:
        self.table = table
        self._aligner: ActiveAligner | PassiveAligner
        if name == job.active:
            self._aligner = ActiveAligner(table.ids, passive=job.parties[1:], name=name)
        else:
            self._aligner = PassiveAligner(table.ids, name=name, active=job.active)

    def handle(self, note: Note) -> Note:
        """One step: at the active party towards one of the others, at a passive party towards the active one."""
        if isinstance(self._aligner, PassiveAligner):
            step = {"answer": self._aligner.answer, "check": self._aligner.check}[note.values["step"]]
            return Note("align", {}, step(note.body))
        return Note("align", {}, self._active(self._aligner, note))

    def rows(self) -> Rows:
        """Where the common records are in this site's table, in the common order."""
        return self._aligner.rows()

    @staticmethod
    def _active(aligner: ActiveAligner, note: Note) -> bytes:
        party, step = str(note.values["party"]), note.values["step"]
        if step in ("request", "agreement"):
            return aligner.request(party) if step == "request" else aligner.agreement(party)
        receive = {"answered": aligner.receive_answer, "checked": aligner.receive_check}[step]
        receive(party, note.body)
        return b""

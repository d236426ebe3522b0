"""The parties' own tables as joint data to train on; for a model that is trained: `privee.vfl.new_tables`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.columns import columns_of_tables
from privee.data.tables import ALIGNED, Labels, PartyTable, Preprocessing, read_party_table
from privee.data.tables.choices import TableChoices, for_party
from privee.data.tables.label_choices import fit_chosen
from privee.progress import Progress
from privee.vfl.joint_data import JointData, split_known
from privee.vfl.matched_tables import Matched, Tell, check_ids, encoded, fitted_columns, matched, of_party
from privee.vfl.tables_report import report_of

UNLABELLED = "unlabelled.json"
"""Which records have no label, at the active party: none of them was trained on. The salt hides that in a checksum."""


def from_tables(
    files: Mapping[str, Path],
    *,
    active: str,
    id_columns: Mapping[str, str],
    label: str,
    test_share: float,
    seed: int,
    choices: TableChoices | None = None,
    folders: Mapping[str, Path] | None = None,
    progress: Progress | None = None,
    tell: Tell = lambda line: None,
) -> JointData:
    """Align the parties' tables, fit each party's preprocessing on its own training rows, and encode.

    Nothing of a party's preprocessing is seen by another: each is fitted on that party's columns alone.

    Args:
        files: each party's table.
        active: the party with the labels.
        id_columns: by party.
        label: the label column.
        test_share: share of the records with a label that are kept for testing.
        seed: decides which.
        choices: what the files do not tell.
        folders: each party's own, where an alignment is kept and found again; None aligns in any case.
        progress: called with how far the alignment is.
        tell: takes a line if an alignment that was kept is out of date.
    """
    choices = choices or TableChoices()
    order = [active, *(name for name in files if name != active)]
    read = {name: _read(files, name, id_columns, label if name == active else None, choices) for name in order}
    choices.check(read, {name: path.name for name, path in files.items()})
    found = matched(read, id_columns, folders, progress=progress, tell=tell)
    tables = found.tables
    where = f"label {label!r} of {files[active].name}"
    texts, places = tables[active].labels or [], found.rows[active].tolist()
    labels, known = of_party(active, lambda: fit_chosen(texts, places, choices.label, where))
    train, test = split_known(known, test_share, seed)
    fitted = {
        name: of_party(name, partial(fitted_columns, table, train, choices.kinds_of(name, files)))
        for name, table in tables.items()
    }
    codes = labels.encode_known(texts)
    return JointData(
        columns={name: encoded(table, fitted[name]) for name, table in tables.items()},
        labels=codes,
        class_names=labels.classes,
        train=train,
        test=test,
        about={"tables": _about(files, order, id_columns, label, test_share, choices)},
        private=_private(found, fitted, labels, known),
        ids=tables[active].ids,
        whole_ids=tables[active].whole_ids,
        described=columns_of_tables(fitted.items()),
        seen=np.isin(np.arange(found.size), train),
        report=report_of(files, read, found, fitted, (codes, labels.classes), (train, test)),
    )


def _private(
    found: Matched, fitted: Mapping[str, Preprocessing], labels: Labels, known: NDArray[np.bool_]
) -> dict[str, dict[str, Any]]:
    """Files that stay with each party; labels are the active one's, which is the first."""
    private: dict[str, dict[str, Any]] = {
        name: {"preprocessing.json": one.as_dict(), ALIGNED: found.lists[name]} for name, one in fitted.items()
    }
    own = next(iter(private.values()))
    own["labels.json"] = labels.as_dict()
    if not known.all():
        own[UNLABELLED] = {"salt": secrets.token_hex(16), "rows": np.flatnonzero(~known).tolist()}
    return private


def _about(
    files: Mapping[str, Path],
    order: list[str],
    id_columns: Mapping[str, str],
    label: str,
    test_share: float,
    choices: TableChoices,
) -> dict[str, Any]:
    """What a run's config says of the tables; nothing about columns beside ids and label."""
    about = {"parties": order, "id_columns": dict(id_columns), "label": label, "test_share": test_share}
    given = {name: choices.delimiter_of(name, files) for name in order}
    return about | ({"delimiters": given} if any(given.values()) else {})


def _read(
    files: Mapping[str, Path], name: str, id_columns: Mapping[str, str], label: str | None, choices: TableChoices
) -> PartyTable:
    def work() -> PartyTable:
        table = read_party_table(
            files[name],
            id_column=id_columns[name],
            label_column=label,
            kinds=choices.kinds_of(name, files),
            drop=for_party(choices.drop, name, files),
            delimiter=choices.delimiter_of(name, files),
        )
        check_ids(table.ids, files[name].name)
        return table

    return of_party(name, work)

"""The parties' own tables as joint data: to train on, or new ones for a model that is trained."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.data.columns import columns_of_tables
from privee.data.tables import ALIGNED, Labels, PartyTable, Preprocessing, read_party_table
from privee.data.tables.choices import TableChoices, for_party
from privee.data.tables.label_choices import fit_chosen
from privee.errors import PriveeError
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


def new_rows(
    files: Mapping[str, Path],
    about: Mapping[str, Any],
    private: Mapping[str, Mapping[str, Any]],
    *,
    trained_on: Collection[str] | None = None,
    folders: Mapping[str, Path] | None = None,
    progress: Progress | None = None,
    tell: Tell = lambda line: None,
) -> JointData:
    """Encode new tables for a trained model, with each party's saved preprocessing.

    Labels are not needed. Where the active party's table has the label column all the same, they are read; a record
    whose label is missing, or none of the model's classes, is one without a label.

    Args:
        files: each party's table.
        about: what the run says of its data.
        private: each party's saved files.
        trained_on: ids of the records that the model was trained on, if they are known.
        folders: each party's part of the run, where alignments are kept.
        progress: called with how far the alignment is.
        tell: takes a line if the alignment that was kept is out of date.
    """
    saved = about["tables"]
    missing = [name for name in saved["parties"] if name not in files]
    if missing:
        raise PriveeError(f"the model needs the columns of {', '.join(missing)} as well: add --party {missing[0]}=FILE")
    fitted = {name: Preprocessing.from_dict(private[name]["preprocessing.json"]) for name in saved["parties"]}
    active = saved["parties"][0]
    read = {name: _read_new(files[name], name, saved, fitted[name]) for name in saved["parties"]}
    tables = matched(read, saved["id_columns"], folders, progress=progress, tell=tell).tables
    ids, count = tables[active].ids, len(tables[active])
    classes = Labels.from_dict(private[active]["labels.json"])
    return JointData(
        columns={name: of_party(name, partial(encoded, table, fitted[name])) for name, table in tables.items()},
        labels=classes.encode_known(tables[active].labels or [None] * count),
        class_names=classes.classes,
        train=np.arange(0),
        test=np.arange(count),
        about=about,
        described=columns_of_tables(fitted.items()),
        ids=ids,
        whole_ids=tables[active].whole_ids,
        seen=None if trained_on is None else np.fromiter((one in trained_on for one in ids), bool, count),
    )


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


def _read_new(path: Path, name: str, saved: Mapping[str, Any], fitted: Preprocessing) -> PartyTable:
    """New tables may still carry the label column; it is not a feature."""
    label = saved["label"] if name == saved["parties"][0] else None

    def work() -> PartyTable:
        table = read_party_table(
            path,
            id_column=saved["id_columns"][name],
            label_column=label,
            label_optional=True,
            kinds=fitted.kinds,
            drop=fitted.dropped,
            delimiter=saved.get("delimiters", {}).get(name, ""),
        )
        check_ids(table.ids, path.name)
        return table if saved["label"] in fitted.kinds else table.without([saved["label"]])

    return of_party(name, work)

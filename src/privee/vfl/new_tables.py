"""New tables of the parties, for a model that is trained: read and encoded as the tables that it was trained on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from privee.data.columns import columns_of_tables
from privee.data.tables import Labels, PartyTable, Preprocessing, read_party_table
from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.joint_data import JointData
from privee.vfl.matched_tables import Tell, check_ids, encoded, matched, of_party


def new_rows(
    files: Mapping[str, Path],
    about: Mapping[str, Any],
    private: Mapping[str, Mapping[str, Any]],
    *,
    trained_on: Collection[str] | None = None,
    folders: Mapping[str, Path] | None = None,
    without: Collection[str] = (),
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
        without: parties whose columns are not needed. Where one table is left, all its records are taken.
        progress: called with how far the alignment is.
        tell: takes a line if the alignment that was kept is out of date.
    """
    saved = about["tables"]
    parties = [name for name in saved["parties"] if name not in without]
    missing = [name for name in parties if name not in files]
    if missing:
        raise PriveeError(f"the model needs the columns of {', '.join(missing)} as well: add --party {missing[0]}=FILE")
    fitted = {name: Preprocessing.from_dict(private[name]["preprocessing.json"]) for name in parties}
    active = saved["parties"][0]
    tables = {name: _read_new(files[name], name, saved, fitted[name]) for name in parties}
    if len(tables) > 1:
        tables = matched(tables, saved["id_columns"], folders, progress=progress, tell=tell).tables
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

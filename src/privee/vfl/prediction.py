"""Predictions of a saved run, written to a file: what `privee predict` does.

What leaves is a release, never the scores, unless asked for in so many words.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from privee.data.score_files.open_files import save_scores
from privee.defenses import Defense
from privee.errors import PriveeError
from privee.progress import Progress
from privee.randomness import Draws
from privee.scores import order_between, utility_of
from privee.theory import rows_in_order
from privee.vfl.experiment import open_run
from privee.vfl.joint_data import JointData, Rows
from privee.vfl.matched_tables import Tell

Which = Literal["test", "train", "all"]
"""Of a dataset its own split; of tables the records that the model was trained on, and all others."""


def predict(
    run: Path,
    target: Path,
    defense: Defense,
    *,
    files: Mapping[str, Path] | None = None,
    codes: Mapping[str, Path] | None = None,
    which: Which | None = None,
    draws: Draws | None = None,
    data_dir: Path | None = None,
    force: bool = False,
    spreadsheet: bool = False,
    progress: Progress = lambda done, size: None,
    aligning: Progress | None = None,
    tell: Tell = lambda line: None,
) -> dict[str, Any]:
    """Write the releases of a run's predictions to a file and return a summary.

    Unless `which` says otherwise, these are the test rows of a dataset, and all records of tables. Sealed parties that
    have handed over their `codes`, in a file each, are not needed; records without a code are left out, and counted.
    """
    joint, data = open_run(run, files, data_dir, codes=codes, progress=aligning, tell=tell)
    chosen = chosen_rows(data, which)
    rows = with_codes(data, chosen)
    scores = joint.scores(torch.from_numpy(rows), progress=progress)
    release = defense.release(scores, draws=draws)
    formulas = save_scores(
        target, release, names=_names(data), ids=_ids(data, rows), force=force, spreadsheet=spreadsheet
    )
    same = release.argmax(axis=1) == scores.argmax(axis=1)
    return {
        "defense": defense.settings(),
        "out": str(target),
        "rows": len(rows),
        "without_code": len(chosen) - len(rows),
        "classes": scores.shape[1],
        "ranking_kept": float(rows_in_order(scores, release).mean()),
        "order_between": order_between(scores, release),
        "label_kept": float(same.mean()),
        "mean_l1_moved": float(np.abs(release - scores).sum(axis=1).mean()),
        "utility": measured(data, rows, scores, release),
        "formulas": formulas,
    }


def chosen_rows(data: JointData, which: Which | None) -> Rows:
    """Row numbers; of tables by what the model was trained on, which the active party's ids tell."""
    if data.ids is None:
        return np.concatenate([data.train, data.test]) if which == "all" else getattr(data, which or "test")
    if which in (None, "all"):
        return np.concatenate([data.train, data.test])
    if data.seen is None:
        raise PriveeError("the run does not tell which records it was trained on; use --rows all")
    rows = np.flatnonzero(data.seen if which == "train" else ~data.seen)
    if not len(rows):
        kind = "was" if which == "train" else "was not"
        raise PriveeError(f"these tables hold no record that the model {kind} trained on; use --rows all")
    return rows


def with_codes(data: JointData, rows: Rows) -> Rows:
    """Those for which every party that has handed over its codes has one."""
    if data.coded is None:
        return rows
    left = rows[data.coded[rows]]
    if not len(left):
        raise PriveeError("none of these records has a code: were the codes handed over of the same ids?")
    return left


def measured(data: JointData, rows: Rows, scores: np.ndarray, release: np.ndarray) -> dict[str, Any] | None:
    """What scores and release are worth on these rows, side by side, or None if no label among them is known.

    Records that the model was trained on say nothing about others: they are left out, unless there are no others. So
    `records` says what was measured on: `new` ones, `training` records, or `unknown`, where the run cannot tell.
    """
    labels, known = data.labels[rows], data.labelled[rows]
    if not known.any():
        return None
    records, chosen = "unknown", known
    if data.seen is not None:
        fresh = known & ~data.seen[rows]
        records, chosen = ("new", fresh) if fresh.any() else ("training", known)
    return {
        "records": records,
        "positive_class": data.class_names[-1] if len(data.class_names) == 2 else None,
        "without_label": int((~known).sum()),
        "trained_on_left_out": int((known & ~chosen).sum()),
        "scores": utility_of(scores[chosen], labels[chosen]).as_dict(),
        "release": utility_of(release[chosen], labels[chosen]).as_dict(),
    }


def _names(data: JointData) -> list[str]:
    return [f"class_{name}" for name in data.class_names]


def _ids(data: JointData, rows: Rows) -> tuple[str, list[object]]:
    if data.ids is None:
        return "row", rows.tolist()
    tables = data.about["tables"]
    ids: list[object] = [int(data.ids[row]) if data.whole_ids else data.ids[row] for row in rows]
    return tables["id_columns"][tables["parties"][0]], ids

"""Predict with a saved run: what leaves is a release, never the scores, unless asked for in so many words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from privee.data.score_files.saving import save_scores
from privee.defenses import Defense
from privee.randomness import Draws
from privee.theory import rows_in_order
from privee.vfl.coordinator import Progress
from privee.vfl.experiment import open_run
from privee.vfl.joint_data import JointData

Which = Literal["test", "train", "all"]


def predict(
    run: Path,
    target: Path,
    defense: Defense,
    *,
    files: Mapping[str, Path] | None = None,
    which: Which = "test",
    draws: Draws | None = None,
    data_dir: Path | None = None,
    force: bool = False,
    spreadsheet: bool = False,
    progress: Progress = lambda done, size: None,
) -> dict[str, Any]:
    """Write the releases of a run's predictions to a file and return a summary."""
    federation, data = open_run(run, files, data_dir)
    rows = np.concatenate([data.train, data.test]) if which == "all" else getattr(data, which)
    scores = federation.scores(torch.from_numpy(rows), progress=progress)
    release = defense.release(scores, draws=draws)
    formulas = save_scores(
        target, release, names=_names(data), ids=_ids(data, rows), force=force, spreadsheet=spreadsheet
    )
    same = release.argmax(axis=1) == scores.argmax(axis=1)
    return {
        "defense": defense.settings(),
        "out": str(target),
        "rows": len(rows),
        "classes": scores.shape[1],
        "ranking_kept": float(rows_in_order(scores, release).mean()),
        "label_kept": float(same.mean()),
        "mean_l1_moved": float(np.abs(release - scores).sum(axis=1).mean()),
        "formulas": formulas,
    }


def _names(data: JointData) -> list[str]:
    return [f"class_{name}" for name in data.class_names]


def _ids(data: JointData, rows: np.ndarray) -> tuple[str, list[object]]:
    if data.ids is None:
        return "row", rows.tolist()
    tables = data.about["tables"]
    return tables["id_columns"][tables["parties"][0]], [data.ids[row] for row in rows]

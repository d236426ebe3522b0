"""Predictions without a sealed party: its codes were handed over, and neither its columns nor its folder are needed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from privee.errors import SettingError
from privee.vfl.joint_data import JointData
from privee.vfl.seal.code_column import CodeColumn
from privee.vfl.seal.settings import Seal


def read_handed_over(
    files: Mapping[str, Path], weights: Mapping[str, str], seals: Mapping[str, Seal]
) -> dict[str, CodeColumn]:
    """Codes in files, checked: they must be those of a sealed party, of this version of the model.

    Args:
        files: as `privee party export-codes` wrote them, by party.
        weights: SHA-256 of each party's weights file in the run.
        seals: of the parties that are sealed.
    """
    found: dict[str, CodeColumn] = {}
    for name, path in files.items():
        if name not in seals:
            raise SettingError(f"--codes {name}={path}: this model has no sealed party called {name!r}")
        found[name] = CodeColumn.read(path)
        found[name].check(path, name, weights[name], seals[name].codes)
    return found


def put_codes(data: JointData, parties: Sequence[str], columns: Mapping[str, CodeColumn]) -> JointData:
    """Codes in place of the columns of those who have handed them over.

    Args:
        data: of the others; what it holds of those who are gone is not looked at.
        parties: all of them, in the model's order.
        columns: the codes, by party.
    """
    count = len(data.labels)
    ids = data.ids or [str(row) for row in range(count)]
    found = {name: column.find(ids) for name, column in columns.items()}
    gone = {name: np.zeros((count, *data.shapes.get(name, (1,))), dtype=np.float32) for name in columns}
    return dataclasses.replace(
        data,
        columns={name: gone[name] if name in gone else data.columns[name] for name in parties},
        handed_over={name: codes for name, (codes, _) in found.items()},
        coded=~np.any([unknown for _, unknown in found.values()], axis=0),
    )

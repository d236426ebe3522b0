"""The leaderboard as one JSON file: how it was measured, and all its rows."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from privee.atomic import read_json, whole_file
from privee.bench.cells import CellFolder
from privee.bench.parts import PARTS
from privee.bench.plan import Plan
from privee.bench.rows import Measured, Row, rows_of
from privee.bench.running import Done
from privee.bench.shapes import About, Worth, fits
from privee.bench.tried import Left, Tried
from privee.errors import PriveeError
from privee.version import __version__

FILE = "leaderboard.json"
ASKED = ("once", "ten", "chosen", "coordinator")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Board:
    """All rows; `about` says how they were measured."""

    about: Mapping[str, Any]
    rows: tuple[Row, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)

    @property
    def usable(self) -> tuple[Row, ...]:
        """Those of defenses that can be used on the model."""
        return tuple(row for row in self.rows if not row.reason)

    @property
    def lasting(self) -> tuple[Row, ...]:
        """Those that hold elsewhere too.

        In files of before, a reason may be that of a training which failed, such as for a file that was away.
        """
        return self.rows if "untrained" in self.about["done"] else self.usable


def make_board(
    plan: Plan, folder: Path, done: Done, command: str, known: Board | None = None, known_file: str = ""
) -> Board:
    """What the folder holds of a plan, and beside it what is known from elsewhere, from a file of that name."""
    cells = CellFolder(folder)
    rows = tuple(rows_of(plan, cells, () if known is None else known.lasting))
    if all(row.reason for row in rows):
        raise PriveeError(_nothing(folder, done, rows))
    tried = {part.name: list(plan.attacks_of(part)) for part in PARTS if plan.attacks_of(part)}
    about: dict[str, Any] = {
        "command": command,
        "privee": __version__,
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": {"cores": len(os.sched_getaffinity(0)), "system": f"{platform.system()} {platform.machine()}"},
        "size": dataclasses.asdict(plan.size) | {"datasets": plan.datasets},
        "attacks": tried,
        "left_out": list(plan.left_out),
        "not_begun": _not_begun(plan, rows),
        # Names alone: reasons have paths in them, and a board is for others too.
        "done": dataclasses.asdict(done) | {"untrained": list(done.untrained)},
    }
    if known is not None:
        taken = sum(row.older or not cells.hold(row.cells) for row in rows)
        about["from"] = {"file": known_file, "rows": taken}
    return Board(about=about, rows=rows)


def outside(plan: Plan, known: Board) -> int:
    """How many rows of a board the plan does not have: they are not in what is made of it."""
    planned = {
        (case.dataset, case.model, case.protection, spec) for case in plan.cases for spec in plan.defenses_of(case)
    }
    return sum(row.place not in planned for row in known.rows)


def _nothing(folder: Path, done: Done, rows: Sequence[Row]) -> str:
    """Why there is no leaderboard."""
    if rows:
        return (
            f"nothing to compare: {rows[0].what} cannot be used on {rows[0].dataset}, {rows[0].model}: {rows[0].reason}"
        )
    if done.untrained:
        return "nothing is measured: no model could be trained; with that put right, the same command goes on"
    early = "stopped before anything was measured; the same command with more minutes goes on"
    return early if done.stopped else f"{folder} holds nothing that was measured with these settings"


def _not_begun(plan: Plan, rows: Sequence[Row]) -> list[str]:
    """What the plan has and nothing is measured of yet, on any model."""
    planned = (case.protection or plan.label_of(case, spec) for case in plan.cases for spec in plan.defenses_of(case))
    begun = {row.what for row in rows}
    return [what for what in dict.fromkeys(planned) if what not in begun]


def board_text(board: Board) -> str:
    """As it is saved, a row on a line."""
    rows = ",\n".join(json.dumps(dataclasses.asdict(row), allow_nan=False) for row in board.rows)
    about = json.dumps(dict(board.about), indent=1, allow_nan=False)
    return f'{{"about": {about},\n"rows": [\n{rows}\n]}}\n'


def save_board(board: Board, path: Path) -> Path:
    """Write it, whole or not at all."""
    text = board_text(board)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, force=True) as partial:
        partial.write_text(text, encoding="utf-8")
    return path


def load_board(path: Path) -> Board:
    """Read it back; refuses with one line what is no leaderboard."""
    file = path if path.suffix == ".json" else path / FILE
    if not file.exists():
        raise PriveeError(f"there is no {file}; measure first, such as `privee bench --quick`")
    saved = read_json(file)
    try:
        json.dumps(saved, allow_nan=False, ensure_ascii=False).encode()  # what can be written again
        board = Board(about=dict(saved["about"]), rows=tuple(map(_row, saved["rows"])))
        wrong = _wrong(board)
    except (KeyError, TypeError, ValueError, AttributeError):
        wrong = "it has not what a leaderboard has"
    if wrong:
        raise PriveeError(f"{file} is no leaderboard that can be read: {wrong}")
    return board


def _wrong(board: Board) -> str:
    """What is damaged, such as by hand; empty if nothing is."""
    if not fits(board.about, About):
        return "something is wrong in what it says about itself"
    sound = (fits(row, Row) and (not row.worth or fits(row.worth, Worth)) for row in board.rows)
    return next((f"something is wrong in row {number}" for number, fine in enumerate(sound, 1) if not fine), "")


def _row(record: Mapping[str, Any]) -> Row:
    asked = {name: None if record[name] is None else Left(**record[name]) for name in ASKED}
    parts = {what: _part(part) for what, part in record.get("parts", {}).items()}
    return Row(**{**record, **asked, "missing": tuple(record["missing"]), "parts": parts})


def _part(record: Mapping[str, Any]) -> Measured:
    tried = tuple(Tried(**{**one, "told": tuple(map(tuple, one["told"]))}) for one in record["tried"])
    return Measured(**{**record, "cells": tuple(record["cells"]), "tried": tried})

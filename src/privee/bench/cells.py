"""What was measured, one whole file per cell, under a name that its settings make.

A cell is one part of a row with one seed. Another setting or version, or other code of the defense or an attack
(`source_marks.py`), makes another name: what was measured otherwise is not taken for it; nor is it deleted.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict

from privee.atomic import read_json, write_json
from privee.attacks import attack as make_attack
from privee.audit.results import Finding
from privee.audit.saving import finding_of
from privee.audit.task import Task
from privee.bench.parts import WORTH
from privee.bench.plan import Batch, Plan
from privee.bench.shapes import Worth, fits
from privee.bench.source_marks import source_mark
from privee.bench.worth import DEFENSE
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.version import __version__


@dataclasses.dataclass(frozen=True)
class Cell:
    """One part of one row, with all that decides what comes out."""

    defense: str
    settings: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The same for the same settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()[:24]


def cells_of(plan: Plan, batch: Batch) -> list[Cell]:
    """One for each defense of the batch's model."""
    shared = {"privee": __version__, "case": batch.case.settings(), "part": batch.what, "seed": batch.seed}
    if batch.part is None:
        shared |= {"rows": plan.size.worth_rows}
    else:
        grid = dataclasses.asdict(plan.grid(batch.part, ("none",), batch.seed))
        marks = {spec: source_mark(type(make_attack(spec))) for spec in grid.pop("attacks")}
        shared |= {"attacks": marks, "grid": {name: value for name, value in grid.items() if name != "defenses"}}
    return [
        Cell(spec, shared | {"defense": spec, "source": source_mark(type(make_defense(spec)))})
        for spec in plan.defenses_of(batch.case, batch.part)
    ]


class _Reason(TypedDict):
    reason: str


class CellFolder:
    """Where cells are kept."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "cells"

    def has(self, cell: Cell) -> bool:
        """Whether it was measured."""
        return self._file(cell.key).exists() and (cell.settings["part"] != WORTH or self.get(cell) is not None)

    def get(self, cell: Cell) -> dict[str, Any] | None:
        """What was measured, None if it was not yet; so too where it may be that only a training failed."""
        if not self._file(cell.key).exists():
            return None
        kept = read_json(self._file(cell.key))
        alike = isinstance(kept, dict) and kept.get("settings") == json.loads(json.dumps(cell.settings))
        if not alike or not (_is_worth(kept) if cell.settings["part"] == WORTH else _is_attacked(kept)):
            raise PriveeError(f"{self._file(cell.key)} is damaged; remove it, and it is measured again")
        worth = kept.get("worth", {})
        return None if "reason" in worth and worth.get("of") != DEFENSE else kept

    def add(self, cell: Cell, values: Mapping[str, Any]) -> None:
        """Keep a cell; it is on disk when this returns, whole or not at all."""
        write_json(self._file(cell.key), {"settings": cell.settings, **values})

    def others(self, keys: Iterable[str]) -> int:
        """How many cells lie here that none of these keys names: of other settings or versions."""
        mine = set(keys)
        return sum(file.stem not in mine for file in self._folder.glob("*.json"))

    def hold(self, keys: Iterable[str]) -> bool:
        """Whether cells of all these names lie here."""
        return all(self._file(key).exists() for key in keys)

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


def _is_worth(kept: Mapping[str, Any]) -> bool:
    worth = kept.get("worth")
    return fits(worth, _Reason) or fits(worth, Worth)


def _is_attacked(kept: Mapping[str, Any]) -> bool:
    """Of the columns that are named; nothing was found only where asking again is asking once."""
    columns, again = kept.get("columns", ()), kept.get("as_once", False)
    try:
        found = findings_in(kept)
        numbers = [column.column for finding in found for column in finding.columns]
        sound = fits(found, list[Finding]) and fits(columns, list[str]) and isinstance(again, bool)
        return sound and bool(found or again) and all(0 <= number < len(columns) for number in numbers)
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def plain_finding(finding: Finding) -> dict[str, Any]:
    """Ready for JSON, without what the leaderboard does not use: questions about columns, and people."""
    columns = tuple(dataclasses.replace(column, questions=()) for column in finding.columns)
    return dataclasses.asdict(dataclasses.replace(finding, columns=columns, people=None, shown=(), column_mse=()))


def findings_in(kept: Mapping[str, Any] | None) -> list[Finding]:
    """The findings of a cell; none of one that was not measured."""
    return [finding_of(dict(record)) for record in (kept or {}).get("findings", ())]


def marked(task: Task) -> Task:
    """The same work if also the files of the defense and the attack are the same."""
    marks: list[Any] = [source_mark(type(make_defense(task.defense))), source_mark(type(make_attack(task.attack)))]
    key = hashlib.sha256("".join([task.key, *marks]).encode()).hexdigest()
    return dataclasses.replace(task, key=key)

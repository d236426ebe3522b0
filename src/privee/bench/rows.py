"""From cells to rows: the best attack of each row counts, on average over columns and in the column told best."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from privee.bench.cases import Case
from privee.bench.cells import Cell, CellFolder, cells_of, findings_in
from privee.bench.parts import SENT, WORTH
from privee.bench.plan import Plan
from privee.bench.tried import Left, Tried, left_of, tried_of


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """One part of a row.

    Attributes:
        cells: the keys of the cells it is made of; the same cells need not be measured again.
        tried: what each attack made of it.
        as_once: the defense gives the same release again, so that asking ten times is asking once.
        worth: what needs no attack; a row has it as its own, so its parts do not repeat it.
    """

    cells: tuple[str, ...]
    tried: tuple[Tried, ...] = ()
    as_once: bool = False
    worth: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Row:
    """A defense, or a protection that is part of the model, on one model.

    Attributes:
        dataset, model, protection, defense: what it is of; with a protection the defense is none.
        once, ten, chosen: asked once honestly, ten times honestly, five times with columns of the attacker's choice;
            whoever may ask more may also ask less. None where it was not measured yet.
        coordinator: given all that the parties send: embeddings, or a sealed party's code. A release changes nothing
            about that, so it stands with the scores themselves and with protections.
        worth: all that needs no attack, see `worth`; a mean over seeds.
        reason: why the defense cannot be used here; empty if it can.
        missing: parts that the plan has and that are not measured yet.
        label: what the defense is called in tables, if not by its spec.
        parts: what it is made of, by name; empty in files of before.
        older: measured with other settings, or by another version of the defense or of an attack.
    """

    dataset: str
    model: str
    protection: str
    defense: str
    once: Left | None = None
    ten: Left | None = None
    chosen: Left | None = None
    coordinator: Left | None = None
    worth: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    reason: str = ""
    missing: tuple[str, ...] = ()
    label: str = ""
    parts: Mapping[str, Measured] = dataclasses.field(default_factory=dict)
    older: bool = False

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Where it belongs: two rows of one place are the same measured twice."""
        return self.dataset, self.model, self.protection, self.defense

    @property
    def cells(self) -> tuple[str, ...]:
        """The keys of all that it is made of."""
        return tuple(key for part in self.parts.values() for key in part.cells)

    @property
    def what(self) -> str:
        """The protection, or the defense by what it is called on every model."""
        return self.protection or self.label or self.defense

    @property
    def least(self) -> float | None:
        """On average over columns, what the strongest of the three ways of asking leaves; None unless all are there."""
        found = [left.mean for left in (self.once, self.ten, self.chosen) if left is not None]
        return min(found) if len(found) == 3 else None


def rows_of(plan: Plan, folder: CellFolder, known: Iterable[Row] = ()) -> list[Row]:
    """Every row that anything is measured of, in the order of the plan.

    Parts that the folder lacks are taken from known rows if those have the same cells. A known row that is measured
    in all three ways of asking stands while its place is not: until then, or until the plan has no more for it.
    """
    held = {row.place: row for row in known}
    gathered: dict[tuple[Case, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for batch in plan.batches:
        for cell in cells_of(plan, batch):
            gathered[batch.case, cell.defense][batch.what].append(cell)
    found = []
    for (case, defense), cells in gathered.items():
        before = held.get((case.dataset, case.model, case.protection, defense))
        row = make_row(case, defense, _with_known(cells, folder, before))
        if before is not None and row.least is None and before.least is not None and row.missing:
            today = {cell.key for some in cells.values() for cell in some}
            row = _standing_in(before, today, row.missing)
        if row.parts or row.older:
            found.append(dataclasses.replace(row, label=plan.label_of(case, defense)))
    return found


def _standing_in(before: Row, today: set[str], missing: tuple[str, ...]) -> Row:
    """A known row in place of one that is not finished; not older if all that it has is of today, and just not all."""
    older = not before.cells or not set(before.cells) <= today
    return dataclasses.replace(before, older=older, missing=before.missing if older else missing)


Given = Measured | Sequence[Mapping[str, Any] | None]
"""A part known already, or its cells as they were kept, one for each seed; None for those not measured yet."""


def _with_known(cells: Mapping[str, Sequence[Cell]], folder: CellFolder, before: Row | None) -> dict[str, Given]:
    known = {} if before is None else known_parts(before)
    return {
        what: known[what]
        if what in known and set(known[what].cells) == {cell.key for cell in some}
        else [None if (kept := folder.get(cell)) is None else {**kept, "key": cell.key} for cell in some]
        for what, some in cells.items()
    }


def known_parts(row: Row) -> dict[str, Measured]:
    """The parts of a row, that without attacks with all that it says."""
    worth = {"reason": row.reason} if row.reason else row.worth
    return {what: dataclasses.replace(one, worth=worth) if what == WORTH else one for what, one in row.parts.items()}


def make_row(case: Case, defense: str, parts: Mapping[str, Given]) -> Row:
    """One row from its parts."""
    row = Row(dataset=case.dataset, model=case.model, protection=case.protection, defense=defense)
    measured = {what: one for what, some in parts.items() if (one := _measured(some)) is not None}
    worth = measured[WORTH].worth if WORTH in measured else {}
    bare = {what: dataclasses.replace(one, worth={}) for what, one in measured.items()}
    if "reason" in worth:
        return dataclasses.replace(row, reason=worth["reason"], parts={WORTH: bare[WORTH]})
    found = [one for what, part in measured.items() if what != SENT for one in part.tried]
    once = [one for one in found if one.honest and one.queries == 1]
    ten = [one for one in found if one.honest and one.queries > 1]
    chosen = [one for one in found if one.five]
    # Some defenses give the same release again: asked ten times is asked once.
    again = "ten" in measured and (measured["ten"].as_once or ten)
    return dataclasses.replace(
        row,
        once=left_of(once),
        ten=left_of([*ten, *once]) if again and once else None,
        chosen=left_of([*chosen, *once]) if chosen and once else None,
        coordinator=left_of(measured[SENT].tried) if SENT in measured else None,
        worth=worth,
        missing=tuple(what for what, some in parts.items() if not _whole(some)),
        parts=bare,
    )


def _measured(some: Given) -> Measured | None:
    """A part from what was kept of its seeds; None if that is nothing."""
    if isinstance(some, Measured):
        return some
    kept = [values for values in some if values]
    if not kept:
        return None
    findings = [finding for values in kept for finding in findings_in(values)]
    worths = [values["worth"] for values in kept if "worth" in values]
    return Measured(
        cells=tuple(values.get("key", "") for values in kept),
        tried=tuple(tried_of(findings, next((values["columns"] for values in kept if "columns" in values), []))),
        as_once=any(values.get("as_once", False) for values in kept),
        worth=next((worth for worth in worths if "reason" in worth), {}) or mean_worth(worths),
    )


def _whole(some: Given) -> bool:
    return isinstance(some, Measured) or (bool(some) and all(some))


def mean_worth(worths: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Means over seeds of what is a number; the quickest time; all else as the first seed has it."""
    if not worths:
        return {}
    first = worths[0]
    found = {name: _mean([worth[name] for worth in worths]) for name in first}
    times = [worth["microseconds"] for worth in worths if worth.get("microseconds") is not None]
    return found | {"microseconds": min(times, default=None), "seeds": len(worths)}


def _mean(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Mapping):
        return {name: _mean([value[name] for value in values]) for name in first}
    if isinstance(first, bool) or not isinstance(first, float) or not all(isinstance(v, float) for v in values):
        return first
    return float(np.mean(values))

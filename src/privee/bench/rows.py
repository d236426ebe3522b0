"""From cells to rows: the best attack of each row counts, on average over columns and in the column told best."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from privee.attacks import attack as make_attack
from privee.audit.exposure.judging import Attempt, judge, pooled
from privee.audit.results import Finding
from privee.bench.cases import Case
from privee.bench.cells import Cell, CellFolder, cells_of, findings_in
from privee.bench.parts import FIVE, SENT, WORTH
from privee.bench.plan import Plan
from privee.data.columns import columns_of_names


@dataclasses.dataclass(frozen=True, kw_only=True)
class Left:
    """Of the best guess's error, the share that the best attack leaves: 1 is nothing told, 0 all.

    Attributes:
        mean: over all private columns together.
        attack: by which; empty if none did better than the guess.
        worst: in the column that is told best beyond chance (5 % for all columns and attacks); 1 if none is.
        column, column_attack: which, and by which attack; empty if none.
        attacks: how many could be tried.
        records: how many were attacked by the attack with the most.
    """

    mean: float
    attack: str
    worst: float
    column: str
    column_attack: str
    attacks: int
    records: int


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

    @property
    def what(self) -> str:
        """The protection, or the defense by what it is called on every model."""
        return self.protection or self.label or self.defense

    @property
    def least(self) -> float | None:
        """On average over columns, what the strongest of the three ways of asking leaves; None unless all are there."""
        found = [left.mean for left in (self.once, self.ten, self.chosen) if left is not None]
        return min(found) if len(found) == 3 else None


def rows_of(plan: Plan, folder: CellFolder) -> list[Row]:
    """Every row that anything is measured of, in the order of the plan."""
    gathered: dict[tuple[Case, str], list[tuple[str, Cell]]] = defaultdict(list)
    for batch in plan.batches:
        for cell in cells_of(plan, batch):
            gathered[batch.case, cell.defense].append((batch.what, cell))
    kept = {place: [(what, folder.get(cell)) for what, cell in some] for place, some in gathered.items()}
    rows = [(place, make_row(*place, some)) for place, some in kept.items() if any(values for _, values in some)]
    return [dataclasses.replace(row, label=plan.label_of(*place)) for place, row in rows]


def make_row(case: Case, defense: str, parts: Sequence[tuple[str, Mapping[str, Any] | None]]) -> Row:
    """One row from its cells; those that are not measured yet are None."""
    worths = [values["worth"] for what, values in parts if what == WORTH and values]
    reason = next((worth["reason"] for worth in worths if "reason" in worth), "")
    row = Row(
        dataset=case.dataset, model=case.model, protection=case.protection, defense=defense, worth={}, reason=reason
    )
    if reason:
        return row
    measured = [(what, values) for what, values in parts if values and what != WORTH]
    names: list[str] = next((values["columns"] for _, values in measured), [])
    found = [finding for what, values in measured if what != SENT for finding in findings_in(values)]
    once = [finding for finding in found if _honest(finding) and finding.queries == 1]
    ten = [finding for finding in found if _honest(finding) and finding.queries > 1]
    chosen = [finding for finding in found if 0 < finding.questions <= FIVE]
    sent = [finding for what, values in measured if what == SENT for finding in findings_in(values)]
    # Some defenses give the same release again: asked ten times is asked once.
    again = any(what == "ten" and (values["as_once"] or ten) for what, values in measured)
    return dataclasses.replace(
        row,
        once=left_of(once, names),
        ten=left_of([*ten, *once], names) if again and once else None,
        chosen=left_of([*chosen, *once], names) if chosen and once else None,
        coordinator=left_of(sent, names),
        worth=mean_worth(worths),
        missing=tuple(dict.fromkeys(what for what, values in parts if not values)),
    )


def left_of(findings: Sequence[Finding], columns: Sequence[str]) -> Left | None:
    """What the best of these attacks leaves; None if none of them could be tried."""
    shares: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for finding in findings:
        if finding.guess_normalised is not None:
            shares[finding.attack, finding.queries, finding.attacker].append(finding.guess_normalised)
    if not shares:
        return None
    means = {attack: float(np.mean(some)) for attack, some in shares.items()}
    best = min(means, key=lambda attack: means[attack])
    judged = judge(columns_of_names(list(columns), "passive"), _attempts(findings))
    told = next((one for one in judged if one.told), None)
    return Left(
        mean=min(1.0, means[best]),
        attack=best[0] if means[best] < 1 else "",
        worst=1.0 if told is None else told.remaining,
        column="" if told is None else told.name,
        column_attack="" if told is None else told.attack,
        attacks=len({attack for attack, *_ in means}),
        records=max(finding.records for finding in findings if finding.guess_normalised is not None),
    )


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


def _honest(finding: Finding) -> bool:
    return not finding.questions


def _attempts(findings: Sequence[Finding]) -> list[Attempt]:
    """Every attack, its seeds together."""
    gathered: dict[tuple[str, int, Any], list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.columns:
            gathered[finding.attack, finding.queries, finding.attacker].append(finding)
    return [
        pooled(attack, who, getattr(make_attack(attack), "own_columns", True) is False, [f.columns for f in some])
        for (attack, _, who), some in gathered.items()
    ]

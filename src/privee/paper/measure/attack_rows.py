"""What all attack results share: every defense, naive and adaptive, three figures beside the printed one.

Results along one quantity have two pictures: what the paper prints, and what an attacker gets.
"""

from __future__ import annotations

import dataclasses
import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from privee.attacks import attack as make_attack
from privee.attacks import paper_attack
from privee.audit import Grid
from privee.audit.results import Finding
from privee.defenses import defense as make_defense
from privee.errors import SettingError
from privee.paper.base import Result
from privee.paper.measure.agreement import compare
from privee.paper.measure.bench import Bench, Case
from privee.paper.outcomes import Account, Outcome, Row, Size, Value, mean_interval
from privee.paper.plots.panels import Panel, Points, draw
from privee.registry import write_spec

if TYPE_CHECKING:
    from matplotlib.figure import Figure


FIGURES = ("confidence_residual", "feature_mse", "guess_normalised")
EFFORT: dict[Size, dict[str, tuple[int, int]]] = {
    "quick": {"": (48, 3)},
    "full": {"": (256, 10), "cifar10": (64, 3), "cifar100": (64, 3)},
}
"""Records under attack and seeds, by dataset; the convolutional models take some thousand times as long."""
TRAINED_ANEW: dict[Size, dict[str, int]] = {"quick": {}, "full": {"mnist": 2, "adult": 3, "logistic": 2}}
"""With up to so many parties a training takes two minutes of one core at most: every seed attacks a model of its
own, as each of the paper's runs does."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttackEntry:
    """One model under one attack, behind several defenses.

    Attributes:
        where: what the rows are about besides defense and attacker.
        defenses: the printed figure by defense spec, None where none is printed.
    """

    case: Case
    attack: str
    where: Mapping[str, Any]
    defenses: Mapping[str, Value | None]


class AttackResult(Result):
    """A table of attacks; its own module says which."""

    band: ClassVar[str] = "mean and 95 % interval over seeds"
    inversion_effort: ClassVar[tuple[int, int] | None] = None
    """At most so many records and seeds for gradient inversion, which takes ten times as long as GRNA."""

    @abstractmethod
    def entries(self, size: Size) -> list[AttackEntry]:
        """What is attacked, how."""

    def datasets(self, size: Size) -> tuple[str, ...]:
        return tuple(dict.fromkeys(entry.case.dataset for entry in self.entries(size)))

    def settings(self, size: Size) -> dict[str, Any]:
        return {
            "entries": [self._settings_of(entry, size) for entry in self.entries(size)],
            "auxiliary_rows": Grid().auxiliary_rows,
        }

    def _settings_of(self, entry: AttackEntry, size: Size) -> dict[str, Any]:
        records, seeds = self._effort(size, entry)
        said = {
            "where": dict(entry.where),
            "attack": entry.attack,
            "model": entry.case.said,
            "records": records,
            "seeds": seeds,
        }
        models = self._models(size, entry)
        return said | ({"trained_models": models} if models > 1 else {})

    def rows(self, bench: Bench) -> list[Row]:
        entries = [entry for entry in self.entries(bench.size) if bench.wants(entry.case.dataset)]
        models = {id(entry): self._trained(bench.size, entry) for entry in entries}
        cases = [case for some in models.values() for case in some]
        subjects = dict(zip(cases, bench.subjects(cases), strict=True))
        found = []
        for entry in entries:
            findings: list[Finding] = []
            for grid, case in zip(self._grids(bench.size, entry), models[id(entry)], strict=True):
                audit = bench.audit(subjects[case], grid, f"{self.name}: {subjects[case].name}")
                findings += audit.findings
            found += _rows(findings, entry)
        return found

    def _models(self, size: Size, entry: AttackEntry) -> int:
        """How many models are trained; the seeds are dealt out among them."""
        kind = "logistic" if entry.case.model == "logistic" else entry.case.dataset
        anew = entry.case.parties <= TRAINED_ANEW[size].get(kind, 0)
        return self._effort(size, entry)[1] if anew else 1

    def _trained(self, size: Size, entry: AttackEntry) -> list[Case]:
        first = entry.case.seed
        return [dataclasses.replace(entry.case, seed=first + k) for k in range(self._models(size, entry))]

    def _grids(self, size: Size, entry: AttackEntry) -> list[Grid]:
        """One for each trained model."""
        records, seeds = self._effort(size, entry)
        models = self._models(size, entry)
        return [
            Grid(
                defenses=tuple(entry.defenses),
                attacks=(entry.attack,),
                seeds=tuple(range(seeds))[model::models],
                records=records,
                pictures=False,
                curves=False,
            )
            for model in range(models)
        ]

    def beside(self, rows: Sequence[Row]) -> list[Row]:
        printed = {
            (*entry.where.items(), ("defense", make_defense(spec).spec)): value
            for entry in self.entries("full")
            for spec, value in entry.defenses.items()
        }
        return [_beside(row, printed) for row in rows]

    def account(self, rows: Sequence[Row]) -> Account:
        return compare(rows)

    def _effort(self, size: Size, entry: AttackEntry) -> tuple[int, int]:
        """How many records and seeds an attack gets."""
        records, seeds = EFFORT[size].get(entry.case.dataset, EFFORT[size][""])
        if self.inversion_effort is None or not entry.attack.startswith("gradient-inversion"):
            return records, seeds
        return min(records, self.inversion_effort[0]), min(seeds, self.inversion_effort[1])


def paper_spec(attack: str, dataset: str) -> str:
    """An attack with the paper's settings for a dataset; with its usual ones for a dataset the paper does not use."""
    try:
        made = paper_attack(attack, dataset)
    except SettingError:
        made = make_attack(attack, **({"loss": "probability"} if attack == "gradient-inversion" else {}))
    return write_spec(made.name, made)


def over_seeds(findings: Sequence[Finding], figure: str) -> Value | None:
    """Mean over seeds with its 95 % interval."""
    values = [value for finding in findings if (value := getattr(finding, figure)) is not None]
    if not values or not all(map(math.isfinite, values)):
        return None
    found = mean_interval(values)
    return found if found.low is None else dataclasses.replace(found, low=max(0.0, found.low))


def _rows(found: Sequence[Finding], entry: AttackEntry) -> list[Row]:
    return [
        _row(found, entry, spec, attacker, value if attacker == "naive" else None)
        for spec, value in entry.defenses.items()
        for attacker in Grid().attackers
    ]


def _row(found: Sequence[Finding], entry: AttackEntry, spec: str, attacker: str, printed: Value | None) -> Row:
    short = make_defense(spec).spec
    mine = [f for f in found if (f.defense, f.attacker) == (short, attacker)]
    return Row(
        where={**entry.where, "defense": short, "attacker": attacker},
        measured={name: value for name in FIGURES if (value := over_seeds(mine, name)) is not None},
        printed={} if printed is None else {"confidence_residual": printed},
        note="; ".join(sorted({f.reason for f in mine if f.reason and f.feature_mse is None})),
    )


def _beside(row: Row, printed: Mapping[tuple[Any, ...], Value | None]) -> Row:
    """A row with the printed figure of its place and defense, if they are known; adaptive attackers have none."""
    place = tuple((key, value) for key, value in row.where.items() if key != "attacker")
    if place not in printed:
        return row
    value = printed[place] if row.where["attacker"] == "naive" else None
    return dataclasses.replace(row, printed={} if value is None else {"confidence_residual": value})


class Sweep(AttackResult):
    """Rows along one quantity; a defense without it is a level line."""

    along: ClassVar[str]
    log: ClassVar[bool] = False
    inversion_effort = (64, 3)

    def place_of(self, row: Row) -> float | None:
        """Where on the axis a row stands; None if it does not depend on the quantity."""
        return float(row.where[self.along])

    def line_of(self, row: Row) -> str | None:
        """Which line a row belongs to; None if it is not shown."""
        return str(row.where["defense"])

    def figure(self, outcome: Outcome) -> Figure | None:
        naive, adaptive = ([r for r in outcome.rows if r.where["attacker"] == who] for who in ("naive", "adaptive"))
        dashed = self._lines(naive, "confidence_residual", "printed")
        log = (self.log, True)
        return draw(
            Panel(
                title="Confidence residual, naive attacker",
                measured=self._lines(naive, "confidence_residual"),
                printed={f"{name}, printed": points for name, points in dashed.items()},
                x=self.along,
                log=log,
            ),
            Panel(
                title="Feature error over a guess's, adaptive attacker",
                measured=self._lines(adaptive, "guess_normalised"),
                x=self.along,
                log=log,
            ),
        )

    def _lines(self, rows: Sequence[Row], figure: str, side: str = "measured") -> dict[str, Points]:
        every = sorted({place for row in rows if (place := self.place_of(row)) is not None})
        found: dict[str, list[tuple[float, Value]]] = {}
        for row in rows:
            name, value, place = self.line_of(row), getattr(row, side).get(figure), self.place_of(row)
            if name is not None and value is not None:
                found.setdefault(name, []).extend((at, value) for at in (every if place is None else [place]))
        return {name: sorted(points, key=lambda point: point[0]) for name, points in found.items()}

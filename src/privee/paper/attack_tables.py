"""GRNA and GIA at an attack strength of 25, 50 and 75 %: six tables of one shape."""

from __future__ import annotations

from typing import Literal

from privee.paper.attack_rows import AttackResult, Entry, paper_spec
from privee.paper.base import register
from privee.paper.bench import Case
from privee.paper.defenses import PRINTED_AS
from privee.paper.printed import printed, printed_tables
from privee.paper.results import Size

Kind = Literal["grna", "gia"]
ATTACK: dict[Kind, str] = {"grna": "grna-paper", "gia": "gradient-inversion"}
COSTLY = ("cifar10", "cifar100")
"""Trained once, half of the picture each; at other strengths the attacker knows fewer or more of its columns."""
QUICK = ("digits", "breast-cancer")


class AttackTable(AttackResult):
    """One attack at one strength, on all datasets the paper prints."""

    def __init__(self, kind: Kind, strength: int) -> None:
        self.kind, self.strength = kind, strength
        self.table = f"{kind}_mse_strength_{strength}"
        self.name = f"{kind}-{strength}"  # type: ignore[misc]
        self.place = 3 if kind == "grna" else 4  # type: ignore[misc]
        self.title = f"{kind.upper()}, attacker knows {strength} % of the columns"  # type: ignore[misc]
        self.source = f"table of {kind.upper()} at strength {strength} %"  # type: ignore[misc]

    def entries(self, size: Size) -> list[Entry]:
        return [self._entry(name) for name in (QUICK if size == "quick" else printed_tables()[self.table])]

    def _entry(self, dataset: str) -> Entry:
        share = self.strength / 100
        costly = dataset in COSTLY
        return Entry(
            case=Case(
                dataset=dataset,
                fraction=0.5 if costly else share,
                attacked_fraction=share if costly and share != 0.5 else None,
            ),
            attack=paper_spec(ATTACK[self.kind], dataset),
            where={"dataset": dataset, "known": f"{self.strength} %", "unknown": f"{100 - self.strength} %"},
            defenses={spec: printed(self.table, dataset, name) for spec, name in PRINTED_AS.items()},
        )


for _kind in ATTACK:
    for _strength in (25, 50, 75):
        register(AttackTable(_kind, _strength))

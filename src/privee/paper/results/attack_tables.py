"""GRNA and GIA at an attack strength of 25, 50 and 75 %, and the attack the paper leaves out: solving equations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from privee.paper.base import register
from privee.paper.measure.attack_rows import AttackEntry, AttackResult, paper_spec
from privee.paper.measure.bench import Case
from privee.paper.outcomes import Account, Outcome, Row, Size
from privee.paper.printed import PRINTED_AS, PRIVEE_U, printed, printed_tables
from privee.paper.report.surrogate import with_surrogate

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

    def entries(self, size: Size) -> list[AttackEntry]:
        return [self._entry(name) for name in (QUICK if size == "quick" else printed_tables()[self.table])]

    def tables(self, outcome: Outcome, link: str, others: Mapping[str, Outcome]) -> str | None:
        return with_surrogate(outcome, link, others)

    def _entry(self, dataset: str) -> AttackEntry:
        share = self.strength / 100
        costly = dataset in COSTLY
        return AttackEntry(
            case=Case(
                dataset=dataset,
                fraction=0.5 if costly else share,
                attacked_fraction=share if costly and share != 0.5 else None,
                attacked="training" if self.kind == "grna" else "test",
            ),
            attack=paper_spec(ATTACK[self.kind], dataset),
            where={"dataset": dataset, "known": f"{self.strength} %", "unknown": f"{100 - self.strength} %"},
            defenses={spec: printed(self.table, dataset, name) for spec, name in PRINTED_AS.items()},
        )


KNOWN = {"mnist": 776 / 784, "drive": 40 / 48, "digits": 56 / 64}
"""Eight columns unknown in each case: no more than there are equations."""


ATTACKS = ("equation-solving", "prior-informed")
"""The equations alone, and with what the attacker knows of the columns besides: small weights magnify small errors."""


@register
class EquationSolvingTable(AttackResult):
    """Logistic models: log-ratios of scores are linear in the unknown columns, and PRIVEE's scores can be estimated."""

    name = "equation-solving"
    place = 18
    title = "Equation solving on logistic models, 8 columns unknown"
    source = "beyond the paper, which leaves the attack out"

    def entries(self, size: Size) -> list[AttackEntry]:
        return [
            AttackEntry(
                case=Case(dataset=dataset, fraction=KNOWN[dataset], model="logistic", how="random", seed=1),
                attack=attack,
                where={"dataset": dataset, "attack": attack},
                defenses=dict.fromkeys(PRINTED_AS),
            )
            for dataset in (KNOWN if size == "full" else ("digits",))
            for attack in ATTACKS
        ]

    def account(self, rows: Sequence[Row]) -> Account:
        left = {attack: _left(rows, attack) for attack in ATTACKS}
        return Account(
            agrees=None,
            printed="not tried: the attack is said to need unperturbed scores",
            measured=(
                "behind PRIVEE-U, with its public inverse, the equations alone leave "
                f"{_listed(left['equation-solving'])}; with a prior on the columns, {_listed(left['prior-informed'])}"
            ),
        )


def _left(rows: Sequence[Row], attack: str) -> dict[str, float]:
    return {
        row.where["dataset"]: row.measured["guess_normalised"].value
        for row in rows
        if (row.where["attack"], row.where["defense"], row.where["attacker"]) == (attack, PRIVEE_U, "adaptive")
    }


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{share:.2g} times a guess's error on {name}" for name, share in shares.items())


for _kind in ATTACK:
    for _strength in (25, 50, 75):
        register(AttackTable(_kind, _strength))

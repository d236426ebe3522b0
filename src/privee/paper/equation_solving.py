"""The attack the paper leaves out: solving equations on what PRIVEE releases."""

from __future__ import annotations

from collections.abc import Sequence

from privee.paper.attack_rows import AttackResult, Entry
from privee.paper.base import register
from privee.paper.bench import Case
from privee.paper.defenses import PRINTED_AS, PRIVEE_U
from privee.paper.results import Account, Row, Size

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

    def entries(self, size: Size) -> list[Entry]:
        return [
            Entry(
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

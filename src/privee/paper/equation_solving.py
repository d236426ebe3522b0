"""The attack the paper leaves out: solving equations on what PRIVEE releases."""

from __future__ import annotations

from collections.abc import Sequence

from privee.paper.attack_rows import AttackResult, Entry
from privee.paper.bench import Case
from privee.paper.defenses import PRINTED_AS, PRIVEE_U
from privee.paper.results import Account, Row, Size

KNOWN = {"mnist": 776 / 784, "drive": 40 / 48, "digits": 56 / 64}
"""Eight columns unknown in each case: no more than there are equations."""


class EquationSolvingTable(AttackResult):
    """Logistic models: log-ratios of scores are linear in the unknown columns, and PRIVEE's scores can be estimated."""

    name = "equation-solving"
    title = "Equation solving on logistic models, 8 columns unknown"
    source = "beyond the paper, which leaves the attack out"

    def entries(self, size: Size) -> list[Entry]:
        return [
            Entry(
                case=Case(dataset=dataset, fraction=KNOWN[dataset], model="logistic", how="random", seed=1),
                attack="equation-solving",
                where={"dataset": dataset},
                defenses=dict.fromkeys(PRINTED_AS),
            )
            for dataset in (KNOWN if size == "full" else ("digits",))
        ]

    def account(self, rows: Sequence[Row]) -> Account:
        ours = {
            row.where["dataset"]: row.measured["guess_normalised"].value
            for row in rows
            if (row.where["defense"], row.where["attacker"]) == (PRIVEE_U, "adaptive")
        }
        return Account(
            agrees=None,
            printed="not tried: the attack is said to need unperturbed scores",
            measured="with PRIVEE-U's public inverse it leaves "
            + ", ".join(f"{share:.0%} of a guess's error on {name}" for name, share in ours.items()),
        )

"""Attacks by number of parties: MNIST under GIA and GRNA, and Drive."""

from __future__ import annotations

import statistics
from collections.abc import Mapping

from privee.paper.base import register
from privee.paper.measure.attack_rows import AttackEntry, Sweep, paper_spec
from privee.paper.measure.bench import Case
from privee.paper.outcomes import Outcome, Row, Size, Value
from privee.paper.printed import (
    OURS,
    PRIVEE_U,
    PRIVEE_U_AS_RELEASED,
    PRIVEE_U_PLUS,
    PRIVEE_U_PLUS_TO_3,
    printed,
    printed_tables,
)
from privee.paper.report.surrogate import with_surrogate

CLIENTS = (5, 10, 15, 20, 25)
QUICK_CLIENTS = (2, 4)
PARTIES = {
    "mnist": (2, *CLIENTS),
    "drive": (2, *CLIENTS),
    "adult": (2, 3, 5),
    "digits": (2, 5, 9),
    "cifar10": (2, 5),
    "cifar100": (2, 5),
}
"""Adult has 14 attributes, half of them the attacker's. The CIFAR models are costly to train and to attack."""
GIA_TABLE, GRNA_TABLE = "gia_mse_mnist_strength_50_by_clients", "grna_mnist_privee_u_by_clients_rho_0.1"
GIA_PRINTED_AS = {
    "rounding:digits=1": "rounding-1",
    "rounding:digits=2": "rounding-2",
    "fh-ope": "ope",
    "gaussian:epsilon=0.5": "gaussian-0.5",
    "gaussian:epsilon=1.0": "gaussian-1.0",
    PRIVEE_U: "privee-u(rho=0.1)",
    PRIVEE_U_AS_RELEASED: "privee-u(rho=0.1)",
    PRIVEE_U_PLUS: "privee-u+",
    PRIVEE_U_PLUS_TO_3: "",
}


def shared_by(dataset: str, parties: int, attack: str = "") -> Case:
    """A joint model whose attacker knows half of the columns; the paper's GRNA attacks training rows."""
    return Case(dataset=dataset, parties=parties, attacked="training" if attack == "grna-paper" else "test")


def _entries(dataset: str, attack: str, size: Size, defenses: dict[int, dict[str, Value | None]]) -> list[AttackEntry]:
    name = dataset if size == "full" else "digits"
    return [
        AttackEntry(
            case=shared_by(name, clients, attack),
            attack=paper_spec(attack, name),
            where={"dataset": name, "parties": clients},
            defenses=defenses[clients] if size == "full" else dict.fromkeys(defenses[clients]),
        )
        for clients in (CLIENTS if size == "full" else QUICK_CLIENTS)
    ]


@register
class GiaByClients(Sweep):
    """GIA on MNIST, half of the columns known, 5 to 25 parties."""

    name = "gia-mnist-clients"
    place = 9
    title = "GIA on MNIST by number of parties, attacker knows 50 % of the columns"
    source = "table of GIA on MNIST by number of clients"
    along = "parties"

    def entries(self, size: Size) -> list[AttackEntry]:
        return _entries("mnist", "gradient-inversion", size, {n: _gia(n) for n in (*CLIENTS, *QUICK_CLIENTS)})

    def tables(self, outcome: Outcome, link: str, others: Mapping[str, Outcome]) -> str | None:
        return with_surrogate(outcome, link, others)


def _gia(clients: int) -> dict[str, Value | None]:
    """Undefended figures are printed once per defense: their mean, and the smallest and largest."""
    before = [row[str(clients)]["before"] for row in printed_tables()[GIA_TABLE].values() if str(clients) in row]
    none = Value(value=statistics.mean(before), low=min(before), high=max(before)) if before else None
    after = {spec: printed(GIA_TABLE, name, str(clients), "after") for spec, name in GIA_PRINTED_AS.items()}
    return {"none": none, **after, **dict.fromkeys(("ope", *OURS))}


@register
class GrnaByClients(Sweep):
    """GRNA on MNIST, PRIVEE-U with rho = 0.1, 5 to 25 parties."""

    name = "grna-mnist-clients"
    place = 10
    title = "GRNA on MNIST by number of parties, PRIVEE-U with rho = 0.1"
    source = "table of GRNA on MNIST by number of clients"
    along = "parties"

    def entries(self, size: Size) -> list[AttackEntry]:
        return _entries("mnist", "grna-paper", size, {n: _grna(n) for n in (*CLIENTS, *QUICK_CLIENTS)})


def _grna(clients: int) -> dict[str, Value | None]:
    without, protected = (printed(GRNA_TABLE, str(clients), key) for key in ("mse_without", "mse_with"))
    return {"none": without, PRIVEE_U: protected, PRIVEE_U_AS_RELEASED: protected, **dict.fromkeys(OURS)}


@register
class DriveByClients(Sweep):
    """GRNA on Drive by number of parties; the paper shows a picture without numbers."""

    name = "drive-clients"
    place = 15
    title = "GRNA on Drive by number of parties, PRIVEE-U with rho = 0.1"
    source = "figure of Drive by number of clients (no numbers printed; trained for 45 epochs, not 450)"
    along = "parties"

    def entries(self, size: Size) -> list[AttackEntry]:
        specs = dict.fromkeys(("none", PRIVEE_U, PRIVEE_U_AS_RELEASED, *OURS))
        return _entries("drive", "grna-paper", size, dict.fromkeys((*CLIENTS, *QUICK_CLIENTS), specs))


@register
class ClientsEverywhere(Sweep):
    """Both attacks by number of parties on every dataset, as often as it can be split."""

    name = "clients-all"
    place = 19
    title = "GRNA and GIA by number of parties, on all datasets"
    source = "beyond the paper (Drive with five parties or more is trained for 45 epochs, not 450)"
    along = "parties"

    def entries(self, size: Size) -> list[AttackEntry]:
        counts = PARTIES if size == "full" else {"digits": (2, 4), "breast-cancer": (2, 4)}
        return [
            AttackEntry(
                case=shared_by(dataset, parties, attack),
                attack=paper_spec(attack, dataset),
                where={"dataset": dataset, "attack": attack, "parties": parties},
                defenses=dict.fromkeys(("none", PRIVEE_U, PRIVEE_U_AS_RELEASED, *OURS)),
            )
            for dataset, some in counts.items()
            for attack in ("grna-paper", "gradient-inversion")
            for parties in some
        ]

    def line_of(self, row: Row) -> str | None:
        return f"{row.where['dataset']}, {row.where['attack']}" if row.where["defense"] == PRIVEE_U else None

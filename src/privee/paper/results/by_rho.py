"""Attacks by rho (MNIST with 25 parties, CIFAR-10), and the search for the constant C: attack error over C and rho."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

from privee.defenses import PriveeU, defense
from privee.paper.base import register
from privee.paper.measure.attack_rows import AttackEntry, Sweep, paper_spec
from privee.paper.outcomes import Account, Row, Size, Value
from privee.paper.printed import OURS, printed, privee_u
from privee.paper.results.by_clients import shared_by

RHOS = (0.05, 0.07, 0.1, 0.3, 0.5, 0.9)
TABLE = "grna_mnist_privee_u_by_rho_25_clients"


class RhoSweep(Sweep):
    """Along rho of PRIVEE-U, which the defense's spec holds."""

    along = "rho"
    log = True

    def place_of(self, row: Row) -> float | None:
        made = defense(row.where["defense"])
        return made.rho if isinstance(made, PriveeU) else None

    def line_of(self, row: Row) -> str | None:
        made = defense(row.where["defense"])
        if not isinstance(made, PriveeU):
            return str(row.where["defense"])
        return "privee-u" if made.draw_range == 1 else f"privee-u:draw_range={made.draw_range:g}"


@register
class GrnaByRho(RhoSweep):
    """GRNA on MNIST with 25 parties, by rho."""

    name = "grna-mnist-rho"
    place = 11
    title = "GRNA on MNIST with 25 parties, by rho of PRIVEE-U"
    source = "table of GRNA on MNIST by rho"

    def entries(self, size: Size) -> list[AttackEntry]:
        full = size == "full"
        case = shared_by("mnist", 25, "grna-paper") if full else shared_by("digits", 4, "grna-paper")
        return [
            AttackEntry(
                case=case,
                attack=paper_spec("grna-paper", case.dataset),
                where={"dataset": case.dataset, "parties": case.parties},
                defenses=_with_rhos(full),
            )
        ]

    def account(self, rows: Sequence[Row]) -> Account:
        found = super().account(rows)
        none = [row for row in rows if row.where["defense"] == "none" and row.printed]
        if not none or found.agrees:
            return found
        theirs, ours = (side["confidence_residual"].value for side in (none[0].printed, none[0].measured))
        why = (
            f"As rho grows, noise fades and what stays is the undefended figure: {theirs:.3g} printed, {ours:.3g} here"
        )
        return dataclasses.replace(found, reason=why)


def _with_rhos(full: bool) -> dict[str, Value | None]:
    """As published and as released; the undefended figure is printed once per rho, here for rho = 0.1."""
    found: dict[str, Value | None] = {"none": printed(TABLE, "0.10", "mse_without") if full else None}
    for rho in RHOS:
        value = printed(TABLE, f"{rho:.2f}", "mse_with") if full else None
        found |= {privee_u(rho): value, privee_u(rho, as_released=True): value}
    return found | dict.fromkeys(OURS)


@register
class CifarByRho(RhoSweep):
    """GRNA on CIFAR-10 by rho; the paper shows a picture without numbers."""

    name = "cifar10-rho"
    place = 14
    title = "GRNA on CIFAR-10 by rho of PRIVEE-U"
    source = "figure of CIFAR-10 by rho (no numbers printed)"

    def entries(self, size: Size) -> list[AttackEntry]:
        dataset = "cifar10" if size == "full" else "digits"
        return [
            AttackEntry(
                case=shared_by(dataset, 2, "grna-paper"),
                attack=paper_spec("grna-paper", dataset),
                where={"dataset": dataset},
                defenses={"none": None} | dict.fromkeys(privee_u(rho) for rho in RHOS) | dict.fromkeys(OURS),
            )
        ]


@register
class RhoEverywhere(RhoSweep):
    """Both attacks by rho, on all datasets."""

    name = "rho-all"
    place = 20
    title = "GRNA and GIA by rho of PRIVEE-U, on all datasets"
    source = "beyond the paper"

    def entries(self, size: Size) -> list[AttackEntry]:
        full = size == "full"
        rhos = RHOS if full else (0.1, 0.9)
        return [
            AttackEntry(
                case=shared_by(dataset, 2, attack),
                attack=paper_spec(attack, dataset),
                where={"dataset": dataset, "attack": attack},
                defenses={"none": None} | dict.fromkeys(privee_u(rho) for rho in rhos) | dict.fromkeys(OURS),
            )
            for dataset in (("mnist", "cifar10", "cifar100", "drive", "adult") if full else ("digits", "breast-cancer"))
            for attack in ("grna-paper", "gradient-inversion")
        ]

    def line_of(self, row: Row) -> str | None:
        if not isinstance(defense(row.where["defense"]), PriveeU):
            return None
        return f"{row.where['dataset']}, {row.where['attack']}"


AMPLITUDES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.48, 0.5, 0.7, 1.0)


@register
class AmplitudeSearch(RhoSweep):
    """GRNA on MNIST for every C of the paper's search, and the one it chose."""

    name = "amplitude"
    place = 16
    title = "GRNA by the constant C and rho of PRIVEE-U"
    source = "appendix on the choice of C (no numbers printed)"

    def entries(self, size: Size) -> list[AttackEntry]:
        dataset = "mnist" if size == "full" else "digits"
        amplitudes, rhos = (AMPLITUDES, RHOS) if size == "full" else ((0.1, 0.48, 1.0), (0.1, 0.9))
        return [
            AttackEntry(
                case=shared_by(dataset, 2, "grna-paper"),
                attack=paper_spec("grna-paper", dataset),
                where={"dataset": dataset, "C": amplitude},
                defenses=dict.fromkeys(_spec(amplitude, rho) for rho in rhos),
            )
            for amplitude in amplitudes
        ]

    def line_of(self, row: Row) -> str | None:
        return f"C = {row.where['C']:g}"

    def account(self, rows: Sequence[Row]) -> Account:
        falls = {amplitude: _falls(rows, amplitude) for amplitude in dict.fromkeys(row.where["C"] for row in rows)}
        steady = [amplitude for amplitude, fine in falls.items() if fine]
        return Account(
            agrees=None if not falls else 1.0 not in steady,
            printed="C up to 0.1 gives a flat response, C = 1 an erratic one, 0.48 was chosen between",
            measured=f"the naive residual never rises with rho for C = {', '.join(f'{c:g}' for c in steady) or 'none'}",
            reason="PRIVEE-U depends on C and rho through C / rho alone, so C = 1 is as steady as any other C.",
        )


def _spec(amplitude: float, rho: float) -> str:
    """As audits write it: the usual amplitude is left out."""
    return f"privee-u:{'' if amplitude == 0.48 else f'amplitude={amplitude!r},'}rho={rho!r}"


def _falls(rows: Sequence[Row], amplitude: float) -> bool:
    """Does the residual fall, or stay within its interval, from each rho to the next?"""
    mine = [
        row.measured["confidence_residual"]
        for row in rows
        if row.where["C"] == amplitude and row.where["attacker"] == "naive"
    ]
    return all(after.value <= (before.high or before.value) for before, after in pairwise(mine))

"""The search for the constant C: attack error over C and rho."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from privee.paper.attack_rows import Entry, paper_spec
from privee.paper.base import register
from privee.paper.bench import Case
from privee.paper.by_rho import RHOS, RhoSweep
from privee.paper.results import Account, Row, Size

AMPLITUDES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.48, 0.5, 0.7, 1.0)


@register
class AmplitudeSearch(RhoSweep):
    """GRNA on MNIST for every C of the paper's search, and the one it chose."""

    name = "amplitude"
    place = 16
    title = "GRNA by the constant C and rho of PRIVEE-U"
    source = "appendix on the choice of C (no numbers printed)"

    def entries(self, size: Size) -> list[Entry]:
        dataset = "mnist" if size == "full" else "digits"
        amplitudes, rhos = (AMPLITUDES, RHOS) if size == "full" else ((0.1, 0.48, 1.0), (0.1, 0.9))
        return [
            Entry(
                case=Case(dataset=dataset),
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

"""Every attack on every defense, and the guesses that need no release: means over seeds, or why there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from privee.audit.results import Audit, Card, Finding


class Cell(NamedTuple):
    """One attack by one kind of attacker: means over seeds, or why there are none."""

    feature_mse: float | None
    guess_normalised: float | None
    confidence_residual: float | None
    note: str
    best: bool = False


class TableRow(NamedTuple):
    """One attack in the table of a defense."""

    attack: str
    queries: int
    naive: Cell | None
    adaptive: Cell | None


class TableBlock(NamedTuple):
    """One defense in the table, with its attacks."""

    card: Card
    rows: tuple[TableRow, ...]


def attack_table(audit: Audit, subject: str, cards: Sequence[Card]) -> list[TableBlock]:
    """A block of rows for every defense."""
    mine = [finding for finding in audit.findings if finding.subject == subject]
    return [
        TableBlock(card, _rows(card, [f for f in mine if f.defense == card.defense and f.attacker != "guess"]))
        for card in cards
    ]


def guess_rows(audit: Audit, subject: str) -> list[tuple[str, Cell]]:
    """The guesses that need no release."""
    mine = [finding for finding in audit.findings if finding.subject == subject and finding.attacker == "guess"]
    names = dict.fromkeys(finding.attack for finding in mine)
    return [(name, _cell([finding for finding in mine if finding.attack == name])) for name in names]


def _rows(card: Card, findings: Sequence[Finding]) -> tuple[TableRow, ...]:
    keys = dict.fromkeys((finding.attack, finding.queries) for finding in findings)
    return tuple(
        TableRow(*key, _of(card, findings, key, "naive"), _of(card, findings, key, "adaptive")) for key in keys
    )


def _of(card: Card, findings: Sequence[Finding], key: tuple[str, int], attacker: str) -> Cell | None:
    mine = [f for f in findings if (f.attack, f.queries) == key and f.attacker == attacker]
    if not mine:
        return None
    best = card.naive if attacker == "naive" else card.adaptive
    return _cell(mine)._replace(best=best is not None and best.attack == key[0])


def _cell(findings: Sequence[Finding]) -> Cell:
    return Cell(
        _mean([finding.feature_mse for finding in findings]),
        _mean([finding.guess_normalised for finding in findings]),
        _mean([finding.confidence_residual for finding in findings]),
        _note(findings),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _note(findings: Sequence[Finding]) -> str:
    """What went wrong, and for how many seeds if not for all."""
    notes = []
    for status in ("failed", "skipped"):
        these = [finding for finding in findings if finding.status == status]
        if these:
            reason = "; ".join(dict.fromkeys(f.reason for f in these if f.reason)) or "worse than the column means"
            share = "" if len(these) == len(findings) else f" for {len(these)} of {len(findings)} seeds"
            notes.append(f"{status}{share}: {reason}")
    return ". ".join(notes)

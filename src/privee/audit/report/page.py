"""The report's page: what it says about each audited model, with a table of every attack on every defense."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from privee.atomic import whole_file
from privee.audit.grades import GRADES, OTHER
from privee.audit.report import number_format
from privee.audit.report.pictures import PicturePanel, panels
from privee.audit.report.query_curves import curves_chart, queries_until
from privee.audit.report.tradeoff import Tradeoff, tradeoff_chart
from privee.audit.results import Audit, Card, Finding, SubjectInfo
from privee.defenses import NoDefense


def render_report(audit: Audit) -> str:
    """The report as HTML; the same audit gives the same text."""
    environment = _environment()
    sections = [subject_section(audit, number) for number in range(1, len(audit.subjects) + 1)]
    return environment.get_template("page.html").render(
        audit=audit,
        sections=sections,
        glance=glance(audit),
        curves=curves_chart(audit.curves, "curves") if audit.curves else None,
    )


def write_report(audit: Audit, path: Path, *, force: bool = False) -> None:
    """Write the report whole or not at all; an existing file is only replaced with `force`."""
    text = render_report(audit)
    with whole_file(path, force=force) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("privee.audit.report"),
        autoescape=True,  # of everything but the style sheet and the charts, which are ours
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": number_format.number,
        "ratio": number_format.ratio,
        "percent": number_format.percent,
        "duration": number_format.duration,
        "together": number_format.together,
        "interval": number_format.interval,
        "breakable": number_format.breakable,
        "plain": number_format.plain,
        "heading": number_format.heading,
        "counted": number_format.counted,
        "grouped": number_format.grouped,
        "queries_until": queries_until,
    }
    environment.globals |= {"GRADES": GRADES, "OTHER": OTHER}
    return environment


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """One subject, ready for the template.

    Attributes:
        anchor: its id on the page.
        by_recovery: cards, the most leaking one first.
        best, worst: defenses that leave most and least to protect; several if they are equal.
    """

    anchor: str
    info: SubjectInfo
    cards: tuple[Card, ...]
    by_recovery: tuple[Card, ...]
    best: tuple[Card, ...]
    worst: tuple[Card, ...]
    tradeoff: Tradeoff | None
    panels: list[PicturePanel]
    blocks: list[TableBlock]
    guesses: list[tuple[str, Cell]]


def subject_section(audit: Audit, number: int) -> Section:
    """Everything about the subject with this number, from 1."""
    info = audit.subjects[number - 1]
    anchor = f"subject-{number}"
    cards = tuple(card for card in audit.cards if card.subject == info.name)
    # Releasing the scores as they are is no defense, so it is not called the worst one.
    defenses = [card for card in cards if card.defense != NoDefense().spec] or list(cards)
    kept = [round(card.guess_normalised, 3) for card in defenses]
    return Section(
        anchor=anchor,
        info=info,
        cards=cards,
        by_recovery=tuple(sorted(cards, key=lambda card: card.guess_normalised)),
        best=_equal_to(defenses, max(kept, default=0.0)),
        worst=_equal_to(defenses, min(kept, default=0.0)),
        tradeoff=tradeoff_chart(cards, f"{anchor}-chart", info.name) if cards else None,
        panels=panels(audit, info, cards),
        blocks=attack_table(audit, info.name, cards),
        guesses=guess_rows(audit, info.name),
    )


def _equal_to(cards: Sequence[Card], kept: float) -> tuple[Card, ...]:
    return tuple(card for card in cards if round(card.guess_normalised, 3) == kept)


def glance(audit: Audit) -> list[tuple[str, list[Card | None]]]:
    """For every defense its card on every subject."""
    cards = {(card.defense, card.subject): card for card in audit.cards}
    defenses = dict.fromkeys(card.defense for card in audit.cards)
    return [(defense, [cards.get((defense, info.name)) for info in audit.subjects]) for defense in defenses]


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

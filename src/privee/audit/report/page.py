"""Puts the page together.

What the page says about one audited model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from privee.atomic import whole_file
from privee.audit.report import number_format
from privee.audit.report.number_format import GRADES, MARKS
from privee.audit.report.pictures import PicturePanel, panels
from privee.audit.report.query_curves import curves_chart, queries_until
from privee.audit.report.table import Block, Cell, attack_table, guess_rows
from privee.audit.report.tradeoff import Tradeoff, tradeoff_chart
from privee.audit.results import Audit, Card, SubjectInfo
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
    environment.globals |= {"GRADES": GRADES, "MARKS": MARKS}
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
    blocks: list[Block]
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

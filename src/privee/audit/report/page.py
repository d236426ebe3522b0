"""The report's page: what its templates need to know about every audited model."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from privee.atomic import whole_file
from privee.audit.comparison import compare_audits
from privee.audit.grades import GRADES, OTHER
from privee.audit.report import advice, number_format
from privee.audit.report.advice import Advice, advise
from privee.audit.report.asked_again import asked_chart
from privee.audit.report.attack_table import Cell, TableBlock, attack_table, guess_rows
from privee.audit.report.column_chart import ColumnChart, column_chart
from privee.audit.report.opening import Opening, opening
from privee.audit.report.pictures import PicturePanel, panels
from privee.audit.report.query_curves import curves_chart, queries_until
from privee.audit.report.tradeoff import Tradeoff, tradeoff_chart
from privee.audit.results import Audit, Card, SubjectInfo
from privee.audit.sealed_words import FOR_ALL, bound_words

SIGNERS = 12


def render_report(audit: Audit, before: Audit | None = None) -> str:
    """The report as HTML, with what changed since an earlier audit; the same audits give the same text."""
    sections = [subject_section(audit, number) for number in range(1, len(audit.subjects) + 1)]
    return (
        _environment()
        .get_template("page.html")
        .render(
            audit=audit,
            sections=sections,
            glance=glance(audit),
            comparison=None if before is None else compare_audits(before, audit),
            queries=max((finding.queries for finding in audit.findings), default=1),
            signers=signers(audit),
            curves=curves_chart(audit.curves, "curves") if audit.curves else None,
        )
    )


def write_report(audit: Audit, path: Path, *, before: Audit | None = None, force: bool = False) -> None:
    """Write the report whole or not at all; an existing file is only replaced with `force`."""
    text = render_report(audit, before)
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
        "two": number_format.two_decimals,
        "three": number_format.three_decimals,
        "percent": number_format.percent,
        "of_hundred": number_format.of_hundred,
        "duration": number_format.duration,
        "together": number_format.together,
        "interval": number_format.interval,
        "breakable": number_format.breakable,
        "plain": number_format.plain,
        "heading": number_format.heading,
        "counted": number_format.counted,
        "grouped": number_format.grouped,
        "label": number_format.label,
        "queries_until": queries_until,
        "accuracy_of": advice.accuracy_of,
        "bound": bound_words,
    }
    environment.globals |= {"GRADES": GRADES, "OTHER": OTHER, "MOST_LOST": advice.MOST_LOST, "FOR_ALL": FOR_ALL}
    return environment


@dataclasses.dataclass(frozen=True, kw_only=True)
class Section:
    """One subject, ready for the template.

    Attributes:
        anchor: its id on the page.
        opening, picture: what the first screen says and shows.
        advice: which release to hand out.
        asked: the picture of what each further question gives away, if anybody asked again.
        main, others: the cards whose columns are told in full in the body, and in the appendix.
    """

    anchor: str
    info: SubjectInfo
    cards: tuple[Card, ...]
    advice: Advice
    opening: Opening | None
    picture: ColumnChart | None
    main: tuple[Card, ...]
    others: tuple[Card, ...]
    tradeoff: Tradeoff | None
    asked: Markup | None
    panels: list[PicturePanel]
    blocks: list[TableBlock]
    guesses: list[tuple[str, Cell]]


def subject_section(audit: Audit, number: int) -> Section:
    """Everything about the subject with this number, from 1."""
    info = audit.subjects[number - 1]
    anchor = f"subject-{number}"
    cards = tuple(card for card in audit.cards if card.subject == info.name)
    advised = advise(info, cards)
    first = opening(info, cards, advised)
    about = None if first is None else first.card
    chosen = None if advised.chosen is about else advised.chosen
    main = tuple(card for card in cards if card is about or card is chosen)
    return Section(
        anchor=anchor,
        info=info,
        cards=cards,
        advice=advised,
        opening=first,
        picture=None if about is None else column_chart(about, chosen, f"{anchor}-picture", info.name),
        main=main,
        others=tuple(card for card in cards if card not in main),
        tradeoff=tradeoff_chart(info, cards, f"{anchor}-chart") if cards else None,
        asked=asked_chart(cards, f"{anchor}-asked-chart"),
        panels=panels(audit, info, cards),
        blocks=attack_table(audit, info.name, cards),
        guesses=guess_rows(audit, info.name),
    )


def signers(audit: Audit) -> list[str]:
    """Everyone who asks or holds columns, and a line for somebody else."""
    parties = dict.fromkeys(party for info in audit.subjects for party in (info.active, *info.parties))
    return [*list(parties)[:SIGNERS], ""]


def glance(audit: Audit) -> list[tuple[str, list[Card | None]]]:
    """For every defense its card on every subject."""
    cards = {(card.defense, card.subject): card for card in audit.cards}
    defenses = dict.fromkeys(card.defense for card in audit.cards)
    return [(defense, [cards.get((defense, info.name)) for info in audit.subjects]) for defense in defenses]

"""Audits and scorecards as notebooks show them; the report has everything."""

from __future__ import annotations

from privee.audit.results import Audit, Card, with_interval
from privee.html_tables import Cell, html_table

HEADER = ("release", "grade, asked once", "grade, asked again", "worst column", "task", "in words")


def card_html(card: Card) -> str:
    """One defense on one subject."""
    again = [f"{one.grade}, asked {one.questions} times with chosen columns" for one in card.asked_again]
    rows: list[tuple[str, Cell]] = [
        ("grade", [f"{card.grade}, asked once and honestly", *again]),
        ("in words", card.verdict),
        ("worst column", _worst(card)),
        (
            "best attack",
            f"{card.headline.attack} ({card.headline.attacker}), error {with_interval(card.headline.error)}",
        ),
        ("best guess", f"{card.guess.attack}, error {with_interval(card.guess.error)}"),
        ("kept", _kept(card)),
        ("proven", card.guarantee),
        ("not covered", card.not_covered),
    ]
    return html_table(f"{card.defense} on {card.subject}", rows)


def audit_html(audit: Audit) -> str:
    """A row for each defense, a table for each subject."""
    tables = []
    for subject in audit.subjects:
        unknown = f"{subject.unknown_columns} of {subject.known_columns + subject.unknown_columns} columns private"
        cards = [card for card in audit.cards if card.subject == subject.name]
        rows = [(card.defense, card.grade, _again(card), _worst(card), _kept(card), card.verdict) for card in cards]
        tables.append(html_table(f"{subject.name}: {subject.classes} classes, {unknown}", rows, header=HEADER))
    return "".join(tables)


def _again(card: Card) -> str:
    return "not tried" if card.most_asked is None else f"{card.most_asked.grade} ({card.most_asked.questions} times)"


def _worst(card: Card) -> str:
    if card.worst is None:
        return "none could be measured"
    unsure = "" if card.worst.settled else ", which may be chance: too few records"
    return f"{card.worst.name} ({card.worst.party}): {card.worst.remaining:.0%} left open{unsure}"


def _kept(card: Card) -> Cell:
    kept = [f"ranking {card.ranking_kept:.0%}", f"class {card.label_kept:.0%}"]
    return kept if card.accuracy is None else [*kept, f"accuracy {card.accuracy:.1%}"]

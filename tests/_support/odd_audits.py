"""Audits that a report must stand: full of markup, of points on top of each other, of columns, or of nothing."""

import dataclasses

import numpy as np

from privee.audit.results import Audit, Best, Card, Estimate, Finding, SubjectInfo
from privee.data.columns import SourceColumn
from tests._support import made_columns
from tests._support.made_audits import make_audit, make_loans

NASTY = '<script>alert("x")</script>$x_{2}$'
NAMES = (
    "a-name-without-any-place-to-break-it-" * 8,
    "prénom, 苗字と名前と生年月日と住所と電話番号, имя, اسم 🧬",
    "\u202egnimaerts\u202c\x00\x07 turned round",
    "",
    "a & b < c > d",
    " two\nlines\t",
)


def rebuilt(audit: Audit, **changes) -> Audit:
    return dataclasses.replace(audit, **changes)


def hostile() -> Audit:
    """Every text that others choose holds markup."""
    audit = make_audit(subjects=3)
    new = {info.name: f"{NASTY} {info.name}" for info in audit.subjects}

    def marked(column):
        values = {"values": (NASTY,) * len(column.values)} if isinstance(column, SourceColumn) else {}
        asked = {} if values else {"question": NASTY, "by": NASTY, "attack": NASTY}
        return dataclasses.replace(column, name=NASTY + column.name, party=NASTY, **values, **asked)

    def renamed(record):
        changes = {"subject": new[record.subject]}
        if record.defense == "label-only":
            changes["defense"] = f"label-only:{NASTY}"
        if isinstance(record, Finding):
            changes |= {"reason": record.reason and NASTY, "attack": record.attack.replace("grna-paper", NASTY)}
        if isinstance(record, Card):
            changes |= {
                "verdict": NASTY,
                "guarantee": NASTY,
                "failed": (NASTY,),
                "skipped": {NASTY: NASTY},
                "grade": NASTY,
                "columns": tuple(map(marked, record.columns)),
                "people": record.people and dataclasses.replace(record.people, attack=NASTY),
            }
        return dataclasses.replace(record, **changes)

    def subject(info: SubjectInfo) -> SubjectInfo:
        return dataclasses.replace(
            info,
            name=new[info.name],
            model=NASTY,
            active=NASTY,
            held=(NASTY,),
            parties=(NASTY, NASTY + "2"),
            columns=tuple(map(marked, info.columns)),
            fingerprints={NASTY: NASTY},
        )

    return Audit(
        about={NASTY: NASTY, "nested": {NASTY: [NASTY]}},
        subjects=tuple(map(subject, audit.subjects)),
        findings=tuple(map(renamed, audit.findings)),
        handouts=tuple(map(renamed, audit.handouts)),
        cards=tuple(map(renamed, audit.cards)),
        curves=audit.curves,
    )


def crowded() -> Audit:
    """Thirty settings of nearly the same effect, one seed, nothing but cards."""
    audit = make_audit(subjects=1, seeds=(0,), pictures=False, curves=False)
    card, rng = audit.cards[1], np.random.default_rng(1)

    def setting(number: int) -> Card:
        left = rng.uniform(0.04, 0.06) if number < 15 else rng.uniform(0.9, 1.0)
        headline = Best(attack="prior-informed", attacker="adaptive", error=Estimate(mean=left * card.guess.error.mean))
        moved = 5 / number if number < 15 else rng.uniform(0.3, 0.4)
        return dataclasses.replace(
            card,
            defense=f"privee-u:rho=0.{number:02}",
            headline=headline,
            guess_normalised=left,
            mean_l1_moved=moved,
            columns=made_columns.exposures(audit.subjects[0].columns, left),
        )

    return rebuilt(audit, cards=tuple(setting(number) for number in range(1, 31)))


def wide() -> Audit:
    """Four hundred columns of three parties, with names of every kind; fifty of them are sensitive."""
    audit = make_loans(seeds=(0,))
    columns = tuple(
        SourceColumn(
            name=f"{NAMES[k % len(NAMES)]} {k}" if k else "",
            party=("telco", "a-party-with-a-very-long-name-of-its-own", "الطرف")[k % 3],
            kind="number",
            places=(k,),
            sensitive=k % 8 == 0,
        )
        for k in range(400)
    )
    cards = tuple(
        dataclasses.replace(card, columns=made_columns.exposures(columns, left))
        for card, left in zip(audit.cards[:3], (0.0, 0.3, 0.5), strict=True)
    )
    info = dataclasses.replace(audit.subjects[0], columns=columns, unknown_columns=400)
    return rebuilt(audit, subjects=(info,), cards=cards, findings=())


def without_columns() -> Audit:
    """No columns, no labels, no parties: all that an audit of an earlier version knew."""
    audit = make_audit(subjects=2, pictures=False, curves=False)
    name = audit.subjects[1].name
    return rebuilt(
        audit,
        subjects=audit.subjects[1:],
        cards=tuple(card for card in audit.cards if card.subject == name),
        findings=tuple(finding for finding in audit.findings if finding.subject == name),
        handouts=(),
    )


def only(audit: Audit, *defenses: str) -> Audit:
    """The same with these releases alone."""
    return rebuilt(audit, cards=tuple(card for card in audit.cards if card.defense in defenses))

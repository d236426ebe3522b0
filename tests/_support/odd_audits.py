"""Audits that a report must stand: full of markup, or of points that lie on top of each other."""

import dataclasses

import numpy as np

from privee.audit.results import Audit, Best, Card, Estimate, Finding
from tests._support.made_audits import make_audit


def rebuilt(audit: Audit, **changes) -> Audit:
    return dataclasses.replace(audit, **changes)


def hostile() -> Audit:
    """Every text that others choose holds markup."""
    nasty = '<script>alert("x")</script>$x_{2}$'
    audit = make_audit(subjects=2)
    new = {info.name: f"{nasty} {info.name}" for info in audit.subjects}

    def renamed(record):
        changes = {"subject": new[record.subject]}
        if record.defense == "label-only":
            changes["defense"] = f"label-only:{nasty}"
        if isinstance(record, Finding):
            changes |= {"reason": record.reason and nasty, "attack": record.attack.replace("grna-paper", nasty)}
        if isinstance(record, Card):
            changes |= {
                "verdict": nasty,
                "guarantee": nasty,
                "failed": (nasty,),
                "skipped": {nasty: nasty},
                "grade": nasty,
            }
        return dataclasses.replace(record, **changes)

    return Audit(
        about={nasty: nasty, "nested": {nasty: [nasty]}},
        subjects=tuple(dataclasses.replace(info, name=new[info.name], model=nasty) for info in audit.subjects),
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
            card, defense=f"privee-u:rho=0.{number:02}", headline=headline, guess_normalised=left, mean_l1_moved=moved
        )

    return rebuilt(audit, cards=tuple(setting(number) for number in range(1, 31)))

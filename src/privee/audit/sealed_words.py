"""What an audit says of sealed parties: what they can ever give away, to whom that holds, and for whom it does not."""

from __future__ import annotations

from collections.abc import Sequence

from privee.attacks import WhiteBox
from privee.audit.exposure.findings import ColumnExposure
from privee.audit.grades import GRADES
from privee.audit.results import SealedInfo
from privee.theory import NOT_COVERED

FOR_ALL = (
    "for any number of questions, with columns of the asker's choice, under any defense or none, and with the "
    "coordinator on the asker's side"
)
"""To whom the bound holds."""
TRAINING = "learn=joint"
"""In the sentence about training, which codes that a party learns by itself need not fear."""


def sealed_parties(model: WhiteBox) -> tuple[SealedInfo, ...]:
    """The sealed parties whose columns are not all the attacker's."""
    return tuple(
        SealedInfo(
            party=part.party,
            codes=part.seal.codes,
            epsilon=part.seal.epsilon,
            bits=part.channel.bits,
            leaked_bits=part.channel.leaked_bits,
            learn=part.seal.learn,
        )
        for part, held in zip(model.sealed, model.held, strict=True)
        if not held
    )


def bound_words(sealed: SealedInfo) -> str:
    """What a party can ever give away of a record.

    Example:
        >>> bound_words(SealedInfo(party="shop", codes=8, epsilon=None, bits=3.0, leaked_bits=3.0, learn="own"))
        'shop sends one of 8 codes for a record, drawn once: 3 bits at most'
        >>> bound_words(SealedInfo(party="shop", codes=8, epsilon=2.0, bits=3.0, leaked_bits=2.038, learn="own"))
        'shop sends one of 8 codes for a record, drawn once: 2.04 bits at most, and epsilon 2 for any single fact'
    """
    fact = "" if sealed.epsilon is None else f", and epsilon {sealed.epsilon:g} for any single fact"
    return (
        f"{sealed.party} sends one of {sealed.codes} codes for a record, drawn once: "
        f"{sealed.leaked_bits:.3g} bits at most{fact}"
    )


def proven(sealed: Sequence[SealedInfo]) -> str:
    """Of all sealed parties together, in one sentence."""
    return f"{'; '.join(map(bound_words, sealed))}. This holds {FOR_ALL}." if sealed else ""


def not_covered(sealed: Sequence[SealedInfo]) -> tuple[str, ...]:
    """For whom and for what it does not hold; training is covered where all codes are learned from own columns."""
    joint = [one.party for one in sealed if one.learn == "joint"]
    said = (words for words in NOT_COVERED if joint or TRAINING not in words)
    return tuple(said) if sealed else ()


def verdict(grade: str, worst: ColumnExposure | None) -> str:
    """For an auditor, about the attacker who has the code itself."""
    who = "who asks without end, or has the code itself"
    if worst is None or grade == "guarded":
        return f"{GRADES[grade].verdict}, also to one {who}."
    if not worst.told:
        return (
            f"{GRADES[grade].verdict}, as far as so few records can tell, to one {who}: {worst.name} ({worst.party})."
        )
    told = f"AUC {worst.auc:.2f}" if worst.by != "error" and worst.auc is not None else f"{worst.remaining:.0%} left"
    return f"{GRADES[grade].verdict} to one {who}: {worst.name} ({worst.party}), {told}; no question tells more."

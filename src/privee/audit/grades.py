"""The grades of an audit, from the worst to the best: their limits, their words and how they look."""

from __future__ import annotations

import math
from typing import NamedTuple


class Grade(NamedTuple):
    """One grade: its limit, its word, its shape and its colour.

    Attributes:
        below: the guess-normalised errors below this, and not below that of a worse grade, have it.
        verdict: the beginning of a sentence for an auditor.
        mark: its shape in text, so that nothing hangs on colour alone.
        marker: the same shape in charts, as matplotlib calls it.
        colour: of both.
    """

    below: float
    verdict: str
    mark: str
    marker: str
    colour: str


GRADES = {
    "open": Grade(0.1, "The release gives the private columns away", "■", "s", "#b42318"),
    "weak": Grade(0.5, "The release gives much away", "▲", "^", "#b54708"),
    "partial": Grade(0.9, "The release gives something away", "◆", "D", "#175cd3"),
    "guarded": Grade(math.inf, "The release adds little or nothing to a guess", "●", "o", "#067647"),
}
"""By the word for it."""

OTHER = Grade(math.nan, "", "●", "o", "#1f2933")
"""How a word looks that is no grade here, in a report made from another version's audit."""


def grade_of(guess_normalised: float) -> str:
    """The word for an error, given as a share of the best guess's.

    Example:
        >>> grade_of(0.05), grade_of(0.5), grade_of(1.2)
        ('open', 'partial', 'guarded')
    """
    return next(word for word, grade in GRADES.items() if guess_normalised < grade.below)

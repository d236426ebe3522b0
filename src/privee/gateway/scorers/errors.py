"""What can go wrong with a scorer, told like what can go wrong with a party."""

from __future__ import annotations

from typing import ClassVar

from privee.errors import PriveeError, UnavailableError
from privee.party.errors import Kind, PartyError

MODEL = "model"
"""What stands where a party's name would, in health and metrics."""


class ScorerError(PartyError):
    """A scorer did not do what it was asked; the kinds are those of `PartyError`."""

    role: ClassVar[str] = "scorer"
    record: ClassVar[str] = "row"

    def __init__(self, kind: Kind, words: str, positions: tuple[int, ...] = ()) -> None:
        PriveeError.__init__(self, f"the {MODEL} {words}")
        self.party, self.kind, self.positions = MODEL, kind, positions


class ScorerUnavailableError(ScorerError, UnavailableError):
    """A scorer cannot be reached (`unreachable`) or did not answer in time (`deadline`)."""


def scorer_error(kind: Kind, words: str) -> ScorerError:
    """The error of this kind."""
    return (ScorerUnavailableError if kind in ("unreachable", "deadline") else ScorerError)(kind, words)

"""What can go wrong with a party, by name and by kind."""

from __future__ import annotations

import copy
from typing import ClassVar, Literal

from privee.errors import PriveeError, UnavailableError

Kind = Literal["deadline", "unreachable", "unknown-entity", "refused", "mismatch", "budget"]


class PartyError(PriveeError):
    """A party did not do what it was asked.

    Attributes:
        party: Its name.
        kind: `deadline` (no answer in time), `unreachable` (no connection), `unknown-entity` (it does not know some of
            the entities), `refused` (it, or its certificate, was not accepted, or it could not do the work), `budget`
            (its own ledger refuses some of the entities) or `mismatch` (it is not the party, or has not the model,
            that the gateway expects).
        positions: Of `unknown-entity`: places in the request, counted from 0.
        role, record: Whose error it is, and what an unknown entity has none of, in words.
    """

    role: ClassVar[str] = "party"
    record: ClassVar[str] = "joint record"

    def __init__(self, party: str, kind: Kind, words: str, positions: tuple[int, ...] = ()) -> None:
        super().__init__(f"party {party} {words}")
        self.party, self.kind, self.positions = party, kind, positions

    def again(self) -> PartyError:
        """The same error, to be raised elsewhere as well."""
        return copy.copy(self)


class PartyBudgetError(PriveeError):
    """At the party: its own ledger says no, and nothing was answered or charged."""


class PartyUnavailableError(PartyError, UnavailableError):
    """A party cannot be reached (`unreachable`) or did not answer in time (`deadline`)."""


def party_error(party: str, kind: Kind, words: str) -> PartyError:
    """The error of this kind."""
    return (PartyUnavailableError if kind in ("unreachable", "deadline") else PartyError)(party, kind, words)

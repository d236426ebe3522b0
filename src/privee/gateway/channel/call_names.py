"""Calls to a party that keeps a ledger of its own have names, one for each attempt, which both sides write down."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Literal, Protocol

from privee.party.errors import PartyError


class CallNames(Protocol):
    """Makes names, and remembers how their calls ended."""

    def name(self, party: str) -> str:
        """For the next call to this party."""

    def note(self, party: str, name: str, entities: int, outcome: Literal["answered", "refused", "failed"]) -> None:
        """How a call ended."""


class Attempts:
    """The names of one call's attempts; none without `calls`."""

    def __init__(self, calls: CallNames | None, party: str, entities: int) -> None:
        self._calls, self._party, self._entities = calls, party, entities
        self._names: list[str] = []

    def name(self) -> str | None:
        """For the next attempt."""
        if self._calls is None:
            return None
        self._names.append(self._calls.name(self._party))
        return self._names[-1]

    @contextlib.contextmanager
    def noted(self) -> Iterator[None]:
        """Around all attempts: how the last one ended. Those before it failed, or there would be no other."""
        outcome: Literal["answered", "refused", "failed"] = "failed"
        try:
            yield
            outcome = "answered"
        except PartyError as error:
            outcome = "refused" if error.kind == "budget" else "failed"
            raise
        finally:
            self._note(outcome)

    def _note(self, outcome: Literal["answered", "refused", "failed"]) -> None:
        if self._calls is None:
            return
        for name in self._names:
            self._calls.note(self._party, name, self._entities, outcome if name == self._names[-1] else "failed")

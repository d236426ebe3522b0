"""The one family of errors that a user of privee is meant to read.

    PriveeError                         what the caller can put right; one line says what
    ├── ScoreError                      also a ValueError: scores, or a release, are not what they claim to be
    ├── SettingError                    also a ValueError: a setting has a value that cannot work
    ├── TableError                      a party's file does not hold what it should; may show its owner a cell
    ├── MissingExtraError               also a ModuleNotFoundError: an optional package is not installed
    ├── FrameError                      bytes that are no message of privee's
    ├── TakenError                      another process is at it: wait for that, or end it
    ├── UnavailableError                something that should have answered did not; later it may
    │   ├── LedgerUnavailableError      the count cannot be stored, so nothing is released
    │   ├── PartyUnavailableError       a party cannot be reached, or is late (also a PartyError)
    │   ├── ScorerUnavailableError      a model that stands alone cannot be reached, or is late (also a ScorerError)
    │   ├── StoreError                  a party's own table cannot be read now
    │   ├── SiteLostError               a site of a joint training is silent (also a SiteError)
    │   ├── GatewayUnavailable          no answer from a gateway (also a GatewayError)
    │   └── PartyFailed                 a gateway's party did not do its part (also a GatewayError)
    ├── PartyError                      a party did not do what the gateway asked
    │   ├── PartyUnavailableError
    │   └── ScorerError                 the same of a model that stands where parties would
    │       └── ScorerUnavailableError
    ├── SiteError                       a site did not do what the coordinator asked
    │   └── SiteLostError
    ├── StoppedError                    a joint training was ended from outside
    ├── PartyBudgetError                at a party: its own ledger says no, and nothing was answered
    ├── RefusedError                    at the gateway: the ledger says no, and nothing was charged
    │   ├── OverQuotaError              the same of a key's quota
    │   └── OverVariantsError           the same of another variant of the active party's columns
    ├── GatewayError                    at the client: a request failed
    │   ├── Refused
    │   │   ├── QuotaReached
    │   │   └── VariantsReached
    │   ├── RateLimited
    │   ├── NotAllowed
    │   ├── UnknownEntity
    │   ├── PartyFailed
    │   └── GatewayUnavailable
    └── InterruptedByUserError          Ctrl-C; the line says how to go on

A test compares this drawing with the classes there are.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "FrameError",
    "MissingExtraError",
    "PriveeError",
    "ScoreError",
    "SettingError",
    "TableError",
    "UnavailableError",
]


SHOWN = 40  # letters of a cell


class PriveeError(Exception):
    """Something the caller can put right; the message says what, in one line."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Whole on its way between processes, whatever `__init__` asks for."""
        return _made_again, (type(self), self.args, self.__dict__)


class ScoreError(PriveeError, ValueError):
    """The scores (or the release) are not what they claim to be.

    Where one place is to blame, `row` and `column` hold its index, so that a reader of a file can name it better.
    """

    def __init__(self, what: str, *, row: int | None = None, column: int | None = None) -> None:
        self.what, self.row, self.column = what, row, column
        place = "" if row is None else f"row {row} " if column is None else f"row {row}, class {column} "
        super().__init__(place + what)


class SettingError(PriveeError, ValueError):
    """A setting has a value that cannot work."""


class TableError(PriveeError):
    """A party's file does not hold what it should.

    The message names file, column and row and can go anywhere. `example` is a cell of the file, or None: for the eyes
    of whoever gave the file, so only a command shows it, and no log, message or other party ever gets it.
    """

    def __init__(self, what: str, *, example: str | None = None) -> None:
        self.example = example
        super().__init__(what)

    def of_party(self, party: str) -> TableError:
        """The same error, with the party whose file it is."""
        return TableError(f"party {party}: {self}", example=self.example)

    def to_owner(self) -> str:
        """The message with the cell, for whoever gave the file."""
        if self.example is None:
            return str(self)
        return f"{self}; it is {self.example[:SHOWN]!r}{' ...' if len(self.example) > SHOWN else ''}"


class MissingExtraError(PriveeError, ModuleNotFoundError):
    """An optional package is not installed; the message says how to get it."""


class FrameError(PriveeError):
    """These bytes are not a message of privee's protocols."""


class TakenError(PriveeError):
    """Another process of this machine is at it: the caller waits for that, or ends it."""


class UnavailableError(PriveeError):
    """Something that should have answered did not: a ledger, a party, a site or a gateway. Later it may."""


def _made_again(kind: type[PriveeError], args: tuple[Any, ...], state: dict[str, Any]) -> PriveeError:
    made = kind.__new__(kind, *args)
    made.__dict__.update(state)
    return made

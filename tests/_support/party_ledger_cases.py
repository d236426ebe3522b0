"""Seals, codes and processes that tests of a party's ledger share."""

import dataclasses
import sqlite3
from pathlib import Path

import numpy as np

from privee.party.ledger import PartyLedger, PartyLimits, Pinned, SealTerms

SEAL = SealTerms("5e" * 32, 16, 0.5)
OTHER_SEAL = SealTerms("07" * 32, 16, 0.5)
THIRD_SEAL = SealTerms("3d" * 32, 16, 0.5)


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a ledger is, and its secret."""

    address: str
    secret: Path

    def open(self, **limits) -> PartyLedger:
        return PartyLedger.open(self.address, self.secret, PartyLimits(**limits))

    @property
    def file(self) -> Path:
        return Path(self.address)

    def beside(self, end: str) -> Path:
        return self.file.with_name(self.file.name + end)


def pin(ledger: PartyLedger, entities: str, codes: list[int] | int, terms: SealTerms = SEAL, **options) -> Pinned:
    """One letter per entity, and one code for each or for all."""
    given = np.full(len(entities), codes, dtype=np.uint8) if isinstance(codes, int) else np.array(codes, dtype=np.uint8)
    return ledger.pin(list(entities), terms, given, **options)


def codes_of(ledger: PartyLedger, entities: str, terms: SealTerms = SEAL) -> list[int]:
    """Those that are stored, as long as they are: what is offered is another one for each."""
    return pin(ledger, entities, 15, terms).codes.tolist()


def count(ledger: PartyLedger, entities: str, digests: str, **options) -> list[bool]:
    return ledger.count(list(entities), [letter.encode() for letter in digests], **options).tolist()


def copied(path: Path, place: Path) -> None:
    """A backup as SQLite makes it."""
    with sqlite3.connect(path) as source, sqlite3.connect(place) as target:
        source.backup(target)
    source.close()
    target.close()

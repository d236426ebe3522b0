"""Which ledger a party uses, by what its command was told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from privee.errors import PriveeError, SettingError
from privee.party.ledger.ledger import PartyLedger
from privee.party.ledger.opening import url_of
from privee.party.ledger.terms import PartyLimits, SealTerms

LEDGER, SECRET = "ledger.db", "ledger.key"


@dataclasses.dataclass(frozen=True)
class LedgerSettings:
    """What a command was told.

    Attributes:
        address: a SQLite file or the address of a database; None for the file in the party's folder.
        secret: file; None for one beside a SQLite file, or with a database in the party's folder.
        limits: None of them given: those of the last time stay.
    """

    address: str | None = dataclasses.field(default=None, repr=False)  # may hold a password
    secret: Path | None = None
    limits: PartyLimits = dataclasses.field(default_factory=PartyLimits)

    def places(self, folder: Path) -> tuple[str | Path, Path]:
        """Where ledger and secret are."""
        if self.address is None:
            return folder / LEDGER, self.secret or folder / SECRET
        url = url_of(self.address)
        if url.get_backend_name() != "sqlite":
            return self.address, self.secret or folder / SECRET
        return self.address, self.secret or Path(url.database or LEDGER).with_suffix(".key")

    def open(self, folder: Path, sealed: SealTerms | None) -> PartyLedger | None:
        """The ledger to serve with; None if nothing asks for one, and there never was one in the folder."""
        self.check(sealed)
        given = None if self.limits == PartyLimits() else self.limits
        address, secret = self.places(folder)
        there = secret.exists() or (isinstance(address, Path) and address.exists())
        if sealed is None and given is None and self.address is None and not there:
            return None
        return PartyLedger.open(address, secret, given)

    def check(self, sealed: SealTerms | None) -> None:
        """Refuse limits that mean nothing here, or allow nothing."""
        if sealed is None and self.limits.of_codes:
            raise SettingError(
                "--bits and --epsilon limit codes, but this run is not sealed: give --releases, --variants"
            )
        if sealed is not None and self.limits.of_answers:
            raise SettingError("--releases and --variants are for runs that are not sealed: give --bits or --epsilon")
        if sealed is not None and not self.limits.allow(sealed.cost()):
            raise SettingError("these limits do not allow a single code of this run: make them wider")

    def existing(self, folder: Path, *, lossy: bool = False) -> PartyLedger:
        """One that is there already, for a look or an act."""
        address, secret = self.places(folder)
        if not secret.exists():
            raise PriveeError(f"this party has no ledger: its secret {secret} is not there")
        return PartyLedger.open(address, secret, make=False, lossy=lossy)

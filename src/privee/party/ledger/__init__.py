"""A party's own ledger: what each entity's record has given away, counted by the party itself, whoever asks."""

from privee.party.ledger.ledger import PartyLedger
from privee.party.ledger.terms import PartyLimits, Pinned, SealTerms

__all__ = ["PartyLedger", "PartyLimits", "Pinned", "SealTerms"]

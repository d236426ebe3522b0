"""Sealed parties: a passive party contributes to any prediction about an entity one of M codes, drawn once.

See `docs/sealed_parties.md`; what is proven about it is in `privee.theory.sealing`.
"""

from privee.vfl.seal.settings import Seal, parse_seal, parse_seals, told_by

__all__ = ["Seal", "parse_seal", "parse_seals", "told_by"]

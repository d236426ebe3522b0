"""What a failed call to a party means. A party's own words are never passed on."""

from __future__ import annotations

import re

from grpc import StatusCode

from privee.gateway.parties.errors import Kind, PartyError, PartyUnavailableError, party_error
from privee.gateway.parties.patience import Patience
from privee.gateway.parties.wire import BAD_COLUMNS, STORE_FAILED

# gRPC has no code of its own for a certificate that is not accepted.
_CERTIFICATE = re.compile("handshake failed|certificate|peer name|verification", re.IGNORECASE)

_BY_CODE: dict[StatusCode, tuple[Kind, str]] = {
    StatusCode.UNAVAILABLE: ("unreachable", "cannot be reached"),
    StatusCode.CANCELLED: ("unreachable", "stopped before it had answered"),
    StatusCode.PERMISSION_DENIED: (
        "refused",
        "does not take this gateway for the coordinator: check its certificate",
    ),
    StatusCode.RESOURCE_EXHAUSTED: ("refused", "has too much to do, or the message was too large"),
    StatusCode.UNIMPLEMENTED: ("mismatch", "does not answer as a party of privee does"),
}
_BY_WORD = {STORE_FAILED: "cannot read its data now; see its log", BAD_COLUMNS: "does not take these columns"}


def failure_of(party: str, code: StatusCode, details: str, patience: Patience) -> PartyError:
    """The error that a status of gRPC stands for."""
    if code is StatusCode.DEADLINE_EXCEEDED:
        return late(party, patience)
    if code is StatusCode.UNAVAILABLE and _CERTIFICATE.search(details):
        return PartyError(party, "refused", "has not shown a certificate of its own name and of the same CA")
    if code in _BY_CODE:
        return party_error(party, *_BY_CODE[code])
    return PartyError(party, "refused", _BY_WORD.get(details, "could not do the work; see its log"))


def late(party: str, patience: Patience) -> PartyError:
    """It did not answer in time."""
    return PartyUnavailableError(party, "deadline", f"did not answer in {patience.deadline:.1f} s")

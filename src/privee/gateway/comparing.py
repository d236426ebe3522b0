"""The gateway's list of calls beside a party's own: who else asked, what was lost, what differs."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from privee.gateway.ledger.party_calls import SentCall

ACTS = {"answer": "answered", "refusal": "refused"}  # as a party writes them, and as the gateway does


@dataclasses.dataclass(frozen=True)
class Receipt:
    """A call as a party wrote it down."""

    name: str
    at: int
    entities: int
    outcome: str

    @classmethod
    def of_entry(cls, entry: dict[str, Any]) -> Receipt | None:
        """From an entry of a party's log; None if it is no call."""
        outcome = ACTS.get(entry["act"])
        if outcome is None:
            return None
        return cls(entry["subject"], entry["at"], entry["details"]["entities"], outcome)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Calls, counted.

    Attributes:
        same: in both lists, and alike.
        strange: the party was asked under no name of this gateway's: somebody else asked.
        unrecorded: under a name of this gateway's that is not in its list: it ended before it wrote them down, or
            somebody has its key.
        repeated: again under a name that the party had been asked under already.
        lost: answered or refused, as the gateway has it, and not in the party's list.
        different: in both, with other numbers of entities or another outcome.
    """

    same: int = 0
    strange: int = 0
    unrecorded: int = 0
    repeated: int = 0
    lost: int = 0
    different: int = 0

    @property
    def ok(self) -> bool:
        """Whether the lists tell the same."""
        return not any((self.strange, self.unrecorded, self.repeated, self.lost, self.different))


def compare(
    sent: Sequence[SentCall],
    receipts: Iterable[Receipt],
    is_own: Callable[[str], bool],
    *,
    since: float = 0,
    until: float = math.inf,
) -> Comparison:
    """Compare the calls between two times, by each list's own clock.

    Args:
        sent: by the gateway, to this party.
        receipts: the party's.
        is_own: whether a name is this gateway's, for this party.
        since: what is older is left out.
        until: what is younger is left out: it may still be on its way into one of the lists.
    """
    held, seen = {call.name: call for call in sent}, set()
    found: Counter[str] = Counter()
    for receipt in receipts:
        is_new, call = receipt.name not in seen, held.get(receipt.name)
        seen.add(receipt.name)
        times = [receipt.at, call.at] if call else [receipt.at]
        if since <= min(times) and max(times) <= until:
            found[_kind(receipt, call, is_new=is_new, is_own=is_own)] += 1
    known = [call for call in sent if call.outcome != "failed" and since <= call.at <= until]
    return Comparison(**found, lost=sum(call.name not in seen for call in known))


def _kind(receipt: Receipt, call: SentCall | None, *, is_new: bool, is_own: Callable[[str], bool]) -> str:
    if not is_own(receipt.name):
        return "strange"
    if not is_new:
        return "repeated"
    if call is None:
        return "unrecorded"
    # Of a call that failed on its way the gateway does not know what the party said.
    alike = call.entities == receipt.entities and call.outcome in ("failed", receipt.outcome)
    return "same" if alike else "different"

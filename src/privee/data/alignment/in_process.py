"""A whole alignment in one process: the real roles, passing the real messages."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from privee.data.alignment.aligners import ActiveAligner, PassiveAligner
from privee.data.alignment.ids import Rows
from privee.errors import PriveeError
from privee.progress import Progress

Carry = Callable[[str, str, bytes], bytes]


@dataclasses.dataclass
class Traffic:
    """Messages and bytes that one party sent and received."""

    messages_sent: int = 0
    bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0


@dataclasses.dataclass(frozen=True)
class Alignment:
    """The result: `rows[party][i]` is where that party holds the i-th common record."""

    rows: dict[str, Rows]
    size: int
    messages: dict[str, Traffic]


def align(
    parties: Mapping[str, Sequence[str]], *, active: str, progress: Progress | None = None, carry: Carry | None = None
) -> Alignment:
    """Find the records that all parties hold, by private set intersection, and one order for them.

    Args:
        parties: each party's ids, row by row. They are compared as text, exactly: `"7"`, `"07"` and `"7 "` differ.
        active: the party that meets each of the others.
        progress: called with (done, size), counted in ids worked on.
        carry: takes (sender, receiver, message) and gives the message as it arrives; by default unchanged.

    Example:
        >>> found = align({"bank": ["c", "a", "b"], "shop": ["b", "x", "c"]}, active="bank")
        >>> found.size, found.rows["bank"].tolist(), found.rows["shop"].tolist()
        (2, [2, 0], [0, 2])
    """
    passive = passive_parties(parties, active)
    counter = _Counter(parties, active, progress)
    leader = ActiveAligner(parties[active], passive=passive, name=active, tick=counter.add)
    others = {name: PassiveAligner(parties[name], name=name, active=active, tick=counter.add) for name in passive}
    post = _Post(parties, carry)
    for name, other in others.items():
        reply = other.answer(post.send(active, name, leader.request(name)))
        leader.receive_answer(name, post.send(name, active, reply))
    for name, other in others.items():
        reply = other.check(post.send(active, name, leader.agreement(name)))
        leader.receive_check(name, post.send(name, active, reply))
    rows = {name: leader.rows() if name == active else others[name].rows() for name in parties}
    counter.finish()
    return Alignment(rows, len(rows[active]), post.traffic)


def passive_parties(parties: Mapping[str, Sequence[str]], active: str) -> list[str]:
    """All but the active one, which must be there."""
    if len(parties) < 2:
        raise PriveeError(f"an alignment needs at least two parties, got {len(parties)}")
    if active not in parties:
        raise PriveeError(f"no party is called {active!r}; there are {', '.join(parties)}")
    return [name for name in parties if name != active]


class _Post:
    """Carries messages and counts them."""

    def __init__(self, parties: Mapping[str, object], carry: Carry | None) -> None:
        self.traffic = {name: Traffic() for name in parties}
        self._carry = carry

    def send(self, sender: str, receiver: str, message: bytes) -> bytes:
        one, other = self.traffic[sender], self.traffic[receiver]
        one.messages_sent += 1
        one.bytes_sent += len(message)
        arrived = message if self._carry is None else self._carry(sender, receiver, message)
        other.messages_received += 1
        other.bytes_received += len(arrived)
        return arrived


class _Counter:
    """Counts ids worked on: per pair two passes over the active party's, one over the other's, one over the shorter."""

    def __init__(self, parties: Mapping[str, Sequence[str]], active: str, progress: Progress | None) -> None:
        own, passive = len(parties[active]), [len(ids) for name, ids in parties.items() if name != active]
        self._size = sum(2 * own + other + min(own, other) for other in passive)
        self._done, self._progress = 0, progress

    def add(self, ids: int) -> None:
        self._done += ids
        if self._progress:
            self._progress(self._done, self._size)

    def finish(self) -> None:
        self.add(self._size - self._done)

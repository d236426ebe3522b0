"""The active party's side of its meeting with one passive party."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from privee.data.alignment.alignment_messages import AlignmentSession, Kind, pack, same_tag, unpack
from privee.data.alignment.psi import (
    Tick,
    blinded,
    blinded_more,
    new_key,
    points_of_request,
    points_of_response,
    points_of_setup,
    product,
    request_of,
    response_of,
    setup_of,
    undoing,
)
from privee.errors import PriveeError


class OwnPoints:
    """The active party's ids, blinded anew for every passive party; they are hashed to the curve only once."""

    def __init__(self, ids: list[str], tick: Tick) -> None:
        self._ids, self._tick = ids, tick
        self._first: tuple[bytes, list[bytes]] | None = None

    def fresh(self) -> tuple[bytes, list[bytes]]:
        """A new key, which nobody can relate to an earlier one, and the points that it makes, row by row."""
        key = new_key()
        if self._first is None:
            self._first = key, blinded(self._ids, key, self._tick)
            return self._first
        first, points = self._first
        return product(first, key), blinded_more(points, key, self._tick)


class Meeting:
    """The active party's state towards one passive party."""

    def __init__(self, party: str, own: OwnPoints, tick: Tick) -> None:
        self.party, self._own, self._tick = party, own, tick
        self.found: list[int] | None = None
        self.confirmed = False
        self._session = AlignmentSession()
        self._key = self._expected_tag = b""
        self._points: list[bytes] = []  # blinded by us and, after the answer, by both; row by row
        self._both: list[bytes] = []
        self._order: list[int] = []
        self._asked: list[bytes] = []  # what the passive party asks about
        self._places: dict[int, int] | None = None  # for a row found: its place in what is asked, if we know it
        self._next = Kind.REQUEST

    def request(self) -> bytes:
        """The own ids, blinded and sorted, so that their order says nothing about rows."""
        self._step(Kind.REQUEST, Kind.ANSWER)
        self._key, self._points = self._own.fresh()
        self._order, points = sorted_by_bytes(self._points)
        message = pack(Kind.REQUEST, self._session.public_key, request_of(points))
        self._session.record(message)
        return message

    def receive_answer(self, message: bytes) -> None:
        """Find which of the own ids this party has: a point that both blinded is the same on both sides."""
        self._step(Kind.ANSWER, Kind.AGREEMENT)
        public_key, setup, response, request = unpack(Kind.ANSWER, message, self.party)
        self._session.meet(public_key, self.party)
        self._session.record(message)
        theirs, answers = points_of_setup(setup), points_of_response(response, len(self._points))
        self._asked = points_of_request(request)
        found = self._matched(theirs, answers)
        self.found = sorted(found)
        self._both = _unsorted(self._order, answers)
        self._places = found if self._asked == theirs else None

    def agreement(self, rows: list[int], common: list[str]) -> bytes:
        """Tell the passive party which of its ids all have: those that it asked about and are in these rows."""
        self._step(Kind.AGREEMENT, Kind.CHECK)
        points, answers = self._own_words(rows) if self._places is None else self._their_words(rows, self._places)
        setup, response = setup_of(sorted(points)), response_of(answers)
        self._session.record(setup, response)
        self._expected_tag = self._session.tag(b"passive", common)
        return pack(Kind.AGREEMENT, setup, response, self._session.tag(b"active", common))

    def receive_check(self, message: bytes) -> None:
        """Compare tags."""
        self._step(Kind.CHECK, Kind.CHECK)
        (tag,) = unpack(Kind.CHECK, message, self.party)
        if not same_tag(tag, self._expected_tag):
            raise PriveeError(f"party {self.party} did not end with the same records; start the alignment again")
        self.confirmed = True

    def _matched(self, theirs: list[bytes], answers: list[bytes]) -> dict[int, int]:
        """For every own row that the other side has: its place among theirs. Works on the shorter of the two lists."""
        if len(theirs) <= len(answers):
            theirs = blinded_more(theirs, self._key, self._tick)
        else:
            answers = blinded_more(answers, undoing(self._key), self._tick)
        places = {point: place for place, point in enumerate(theirs)}
        return {row: places[point] for row, point in zip(self._order, answers, strict=True) if point in places}

    def _their_words(self, rows: list[int], places: dict[int, int]) -> tuple[list[bytes], list[bytes]]:
        """Only what the passive party has seen or made: this message says which of its ids are common, and no more.

        Ids that are not common to all get one and the same random point, whether we have them or not. Raised to our
        key they could be looked for among our own ids; that is why nothing is answered here but what is common.
        """
        (nothing,) = blinded([secrets.token_hex(32)], new_key(), lambda ids: None)
        answers = [nothing] * len(self._asked)
        for row in rows:
            answers[places[row]] = self._both[row]
        return [self._points[row] for row in rows], answers

    def _own_words(self, rows: list[int]) -> tuple[list[bytes], list[bytes]]:
        """For a passive party of an earlier version, whose request has a key of its own: a second intersection."""
        more = new_key()
        points = blinded_more([self._points[row] for row in rows], more, self._tick)
        return points, blinded_more(self._asked, product(self._key, more), self._tick)

    def _step(self, now: Kind, then: Kind) -> None:
        if self._next is not now or self.confirmed:
            raise PriveeError(f"party {self.party}: {now.name.lower()} is out of turn; an aligner serves one alignment")
        self._next = then


def sorted_by_bytes(points: Sequence[bytes]) -> tuple[list[int], list[bytes]]:
    """The points in the order of their bytes, which depends on a secret key alone, and the row of each."""
    order = sorted(range(len(points)), key=points.__getitem__)
    return order, [points[row] for row in order]


def _unsorted(order: Sequence[int], points: Sequence[bytes]) -> list[bytes]:
    by_row = [b""] * len(order)
    for row, point in zip(order, points, strict=True):
        by_row[row] = point
    return by_row

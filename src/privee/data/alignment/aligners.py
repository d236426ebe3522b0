"""Both sides of an alignment: the active party meets every passive one, and tells them what is common to all."""

from __future__ import annotations

from collections.abc import Sequence

from privee.data.alignment.alignment_messages import AlignmentSession, Kind, pack, same_tag, unpack
from privee.data.alignment.ids import Rows, checked_ids, in_common_order
from privee.data.alignment.meeting import Meeting, OwnPoints, sorted_by_bytes
from privee.data.alignment.psi import (
    Tick,
    blinded,
    blinded_more,
    new_key,
    points_of_request,
    points_of_response,
    points_of_setup,
    request_of,
    response_of,
    setup_of,
)
from privee.errors import PriveeError

ALIKE = "are the id columns the right ones, and written alike? 007 and 7 are two"


class ActiveAligner:
    """Exchanges four messages with each passive party, over any channel that is encrypted and authenticated.

    For every passive party in turn: send `request`, hand the reply to `receive_answer`. When all have answered, for
    every one: send `agreement`, hand the reply to `receive_check`. Then `rows` holds the result. An object serves one
    alignment; if a step fails, tell the others and start again with new objects.
    """

    def __init__(
        self, ids: Sequence[str], *, passive: Sequence[str], name: str = "active", tick: Tick = lambda ids: None
    ) -> None:
        self._ids, self._name, self._tick = checked_ids(ids, name), name, tick
        own = OwnPoints(self._ids, tick)
        self._meetings = {party: Meeting(party, own, tick) for party in passive}
        self._common: list[int] | None = None
        if not self._meetings:
            raise PriveeError("an alignment needs at least one passive party")

    def request(self, passive: str) -> bytes:
        """The first message to a passive party: the own ids, blinded with a key made for this party alone."""
        return self._meeting(passive).request()

    def receive_answer(self, passive: str, message: bytes) -> None:
        """Learn which of the own ids this passive party has."""
        meeting = self._meeting(passive)
        meeting.receive_answer(message)
        if not meeting.found:
            raise PriveeError(f"parties {self._name} and {passive} have no common ids; {ALIKE}")

    def agreement(self, passive: str) -> bytes:
        """The second message to a passive party, by which it learns which of its ids all parties have."""
        meeting, common = self._meeting(passive), self._common_rows()
        return meeting.agreement(common, [self._ids[row] for row in common])

    def receive_check(self, passive: str, message: bytes) -> None:
        """Make sure that this passive party ended with the same records in the same order."""
        self._meeting(passive).receive_check(message)

    def rows(self) -> Rows:
        """Positions of the common records among the own ids, in common order, once every party has confirmed."""
        waiting = [party for party, meeting in self._meetings.items() if not meeting.confirmed]
        if waiting:
            raise PriveeError(f"not aligned yet: no confirmation from {', '.join(waiting)}")
        return in_common_order(self._ids, self._common or ())

    def _meeting(self, passive: str) -> Meeting:
        if passive not in self._meetings:
            raise PriveeError(f"no passive party is called {passive!r}; there are {', '.join(self._meetings)}")
        return self._meetings[passive]

    def _common_rows(self) -> list[int]:
        if self._common is None:
            waiting = [party for party, meeting in self._meetings.items() if meeting.found is None]
            if waiting:
                raise PriveeError(f"no answer yet from {', '.join(waiting)}")
            common = set.intersection(*(set(meeting.found or ()) for meeting in self._meetings.values()))
            if not common:
                *most, last = self._name, *self._meetings
                raise PriveeError(f"parties {', '.join(most)} and {last} have no common ids; {ALIKE}")
            self._common = in_common_order(self._ids, common).tolist()
        return self._common


class PassiveAligner:
    """Answers the active party's two messages; learns which of its own ids all parties have, and nothing of others'.

    Reply to the first message with what `answer` gives and to the second with what `check` gives; then `rows` holds
    the result. An object serves one alignment.
    """

    def __init__(
        self, ids: Sequence[str], *, name: str = "passive", active: str = "active", tick: Tick = lambda ids: None
    ) -> None:
        self._ids, self._active, self._tick = checked_ids(ids, name), active, tick
        self._session, self._key = AlignmentSession(), new_key()
        self._order: list[int] = []
        self._asked: list[bytes] = []
        self._answered: list[bytes] = []
        self._rows: Rows | None = None
        self._next: Kind | None = Kind.REQUEST

    def answer(self, message: bytes) -> bytes:
        """Let the active party find its common ids, and ask, with the own ids blinded, what is common to all.

        What is asked is the list that was just given, point by point: whoever gets both learns nothing from the second.
        """
        self._step(Kind.REQUEST, Kind.AGREEMENT)
        public_key, request = unpack(Kind.REQUEST, message, self._active)
        self._session.meet(public_key, self._active)
        self._asked = points_of_request(request)
        own = blinded(self._ids, self._key, self._tick)
        self._order, points = sorted_by_bytes(own)
        self._answered = blinded_more(self._asked, self._key, self._tick)
        parts = setup_of(points), response_of(self._answered), request_of(points)
        reply = pack(Kind.ANSWER, self._session.public_key, *parts)
        self._session.record(message)
        self._session.record(reply)
        return reply

    def check(self, message: bytes) -> bytes:
        """Learn the common records, and prove to the active party that they are the same ones in the same order."""
        self._step(Kind.AGREEMENT, None)
        setup, response, tag = unpack(Kind.AGREEMENT, message, self._active)
        common_points, answers = points_of_setup(setup), points_of_response(response, len(self._ids))
        rows = in_common_order(self._ids, self._found(common_points, answers))
        announced = len(common_points)
        if len(rows) != announced:
            raise PriveeError(f"party {self._active} announced {announced:,} common records, {len(rows):,} were found")
        self._session.record(setup, response)
        common = [self._ids[row] for row in rows]
        if not same_tag(tag, self._session.tag(b"active", common)):
            raise PriveeError(f"party {self._active} did not end with the same records; start the alignment again")
        self._rows = rows
        return pack(Kind.CHECK, self._session.tag(b"passive", common))

    def rows(self) -> Rows:
        """Positions of the common records among the own ids, in common order."""
        if self._rows is None:
            raise PriveeError("not aligned yet: the active party's second message has not come")
        return self._rows.copy()

    def _found(self, common: list[bytes], answers: list[bytes]) -> list[int]:
        """Own rows whose point, blinded by both, is that of a common id, blinded by both."""
        wanted = set(common)
        both = {more for point, more in zip(self._asked, self._answered, strict=True) if point in wanted}
        if len(both) < len(wanted):  # an earlier version blinds what is common with another key
            both = set(blinded_more(common, self._key, self._tick))
        return [row for row, point in zip(self._order, answers, strict=True) if point in both]

    def _step(self, now: Kind, then: Kind | None) -> None:
        if self._next is not now:
            raise PriveeError(f"{now.name.lower()} from {self._active} is out of turn; an aligner serves one alignment")
        self._next = then

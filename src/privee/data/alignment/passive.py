"""A passive party's side of an alignment."""

from __future__ import annotations

from collections.abc import Sequence

from privee.data.alignment.ids import Rows, checked_ids, in_common_order
from privee.data.alignment.messages import Kind, Session, pack, same_tag, unpack
from privee.data.alignment.psi import PsiClient, PsiServer, Tick, size_of_setup
from privee.errors import PriveeError


class PassiveAligner:
    """Answers the active party's two messages; learns which of its own ids all parties have, and nothing of others'.

    Reply to the first message with what `answer` gives and to the second with what `check` gives; then `rows` holds
    the result. An object serves one alignment.
    """

    def __init__(
        self, ids: Sequence[str], *, name: str = "passive", active: str = "active", tick: Tick = lambda ids: None
    ) -> None:
        self._ids, self._active, self._tick = checked_ids(ids, name), active, tick
        self._session, self._client = Session(), PsiClient(self._ids, tick)
        self._rows: Rows | None = None
        self._next: Kind | None = Kind.REQUEST

    def answer(self, message: bytes) -> bytes:
        """Let the active party find its common ids, and ask, with the own ids blinded, what is common to all."""
        self._step(Kind.REQUEST, Kind.AGREEMENT)
        public_key, request = unpack(Kind.REQUEST, message, self._active)
        self._session.meet(public_key, self._active)
        server = PsiServer(self._ids, self._tick)
        parts = server.setup(), server.response(request), self._client.request()
        reply = pack(Kind.ANSWER, self._session.public_key, *parts)
        self._session.record(message)
        self._session.record(reply)
        return reply

    def check(self, message: bytes) -> bytes:
        """Learn the common records, and prove to the active party that they are the same ones in the same order."""
        self._step(Kind.AGREEMENT, None)
        setup, response, tag = unpack(Kind.AGREEMENT, message, self._active)
        rows = in_common_order(self._ids, self._client.intersection(setup, response))
        announced = size_of_setup(setup)
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

    def _step(self, now: Kind, then: Kind | None) -> None:
        if self._next is not now:
            raise PriveeError(f"{now.name.lower()} from {self._active} is out of turn; an aligner serves one alignment")
        self._next = then

"""An alignment by RR22: each party's steps with its own worker, and all of them on one machine.

The steps are those of the first engine. Between the active party and each passive one: an intersection that only the
active party learns, then one of what is common to all, which only the passive party learns, and tags that show whether
both ended with the same records. Sets are digests of ids under a secret that the two share for one meeting.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from privee.data.alignment.aligners import ALIKE
from privee.data.alignment.alignment_messages import AlignmentSession, same_tag
from privee.data.alignment.ids import Rows, checked_ids, in_common_order
from privee.data.alignment.spu.link import SpuLink
from privee.data.alignment.spu.pipe import SpuWorker
from privee.data.alignment.spu.worker import DIGEST
from privee.errors import PriveeError

ACTIVE, PASSIVE = 0, 1
CONNECT_SECONDS, STEP_SECONDS, SECONDS_PER_ID = 120.0, 600.0, 1e-4

STEPS = 4  # of a meeting

Tick = Callable[[int], None]
"""Called with 1 when a step is done, and with 0 now and then while one goes on."""

Start = Callable[[], SpuWorker]


@dataclasses.dataclass(frozen=True)
class Patience:
    """How long a party waits: for the other to be there, and for a step of a set of this size."""

    connect: float = CONNECT_SECONDS
    step: float = STEP_SECONDS

    def for_ids(self, ids: int) -> float:
        """Seconds for one step."""
        return self.step + SECONDS_PER_ID * ids


class SpuMeeting:
    """One party's end of a meeting: its worker, linked to the other's."""

    def __init__(
        self,
        ids: Sequence[str],
        role: int,
        link: SpuLink,
        other: str,
        worker: SpuWorker,
        patience: Patience,
        tick: Tick,
    ) -> None:
        self._role, self._other, self._worker, self._tick = role, other, worker, tick
        self._ids, self._seconds = ids, patience.for_ids(len(ids))
        self._session = AlignmentSession()
        words = link.as_words(role) | {"connect_seconds": patience.connect}
        worker.ask("link", seconds=patience.connect + self._seconds, words=words)
        self._digests = self._keyed_digests()
        tick(1)

    def learns(self, rows: Sequence[int] | None = None, *, receiver: int) -> list[int]:
        """Rows that the other side has too, if this side is the receiver; of these rows, or of all."""
        digests = self._digests if rows is None else self._digests[np.asarray(rows, dtype=np.int64)]
        words = {"receiver": receiver}
        answer = self._worker.ask("intersect", digests.tobytes(), seconds=self._seconds, words=words, alive=self._alive)
        places = np.frombuffer(answer[: len(answer) // 8 * 8], dtype=">i8")
        if len(answer) % 8 or (len(places) and (places.min() < 0 or places.max() >= len(digests))):
            raise PriveeError("the worker of spu answered with places that are not there")
        self._tick(1)
        return sorted(set(places.tolist()))

    def confirm(self, rows: Sequence[int]) -> None:
        """Make sure that both sides ended with the same records in the same order."""
        common = [self._ids[row] for row in rows]
        own, other = (b"active", b"passive") if self._role == ACTIVE else (b"passive", b"active")
        theirs = self._swap(self._session.tag(own, common))
        if not same_tag(theirs, self._session.tag(other, common)):
            raise PriveeError(f"party {self._other} did not end with the same records; start the alignment again")
        self._tick(1)

    def _keyed_digests(self) -> np.ndarray[tuple[int], np.dtype[np.void]]:
        """The ids under the pair's secret: nobody else can try ids against what a worker writes to its folder."""
        own, theirs = self._session.public_key, self._swap(self._session.public_key)
        self._session.meet(theirs, self._other)
        self._session.record(*((own, theirs) if self._role == ACTIVE else (theirs, own)))
        key = self._session.tag(b"digests", ())
        joined = b"".join(hashlib.blake2b(value.encode(), digest_size=DIGEST, key=key).digest() for value in self._ids)
        return np.frombuffer(joined, dtype=f"V{DIGEST}")

    def _swap(self, body: bytes) -> bytes:
        return self._worker.ask("swap", body, seconds=self._seconds, alive=self._alive)

    def _alive(self) -> None:
        self._tick(0)


def active_rows(
    ids: Sequence[str],
    links: Mapping[str, SpuLink],
    *,
    name: str,
    start: Start = SpuWorker,
    patience: Patience | None = None,
    tick: Tick = lambda steps: None,
) -> Rows:
    """The active party's part: meets every passive party at its link; its rows of the common records, in order."""
    own, waits = checked_ids(ids, name), patience or Patience()
    with contextlib.ExitStack() as stack:
        meetings, common = {}, set(range(len(own)))
        for party, link in links.items():
            worker = stack.enter_context(start())
            meetings[party] = SpuMeeting(own, ACTIVE, link, party, worker, waits, tick)
            found = meetings[party].learns(receiver=ACTIVE)
            if not found:
                raise PriveeError(f"parties {name} and {party} have no common ids; {ALIKE}")
            common &= set(found)
        if not common:
            *most, last = name, *links
            raise PriveeError(f"parties {', '.join(most)} and {last} have no common ids; {ALIKE}")
        rows = in_common_order(own, common)
        for meeting in meetings.values():
            meeting.learns(rows.tolist(), receiver=PASSIVE)
            meeting.confirm(rows.tolist())
        return rows


def passive_rows(
    ids: Sequence[str],
    link: SpuLink,
    *,
    name: str,
    active: str,
    start: Start = SpuWorker,
    patience: Patience | None = None,
    tick: Tick = lambda steps: None,
) -> Rows:
    """A passive party's part: its rows of the records that all parties hold, in common order."""
    own = checked_ids(ids, name)
    with start() as worker:
        meeting = SpuMeeting(own, PASSIVE, link, active, worker, patience or Patience(), tick)
        meeting.learns(receiver=ACTIVE)
        rows = in_common_order(own, meeting.learns(receiver=PASSIVE))
        if not len(rows):
            raise PriveeError(f"parties {active} and {name} have no common ids; {ALIKE}")
        meeting.confirm(rows.tolist())
        return rows

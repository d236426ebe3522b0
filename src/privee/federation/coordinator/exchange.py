"""The coordinator's side of the line: numbered requests to sites, their replies, and their cost in bytes and time."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from privee.errors import FrameError
from privee.federation.errors import SiteError, SiteLostError, StoppedError
from privee.federation.wire.frames import Content, Frame, Note, SiteFailure, decode, encode
from privee.federation.wire.reply_checks import ReplyChecks
from privee.federation.wire.tensors import Packing
from privee.vfl.messages import Logits, Message, Work, WorkAndLogits

FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


class Post(Protocol):
    """Carries bytes to sites and back; a site that does not answer in time is absent from the replies."""

    def deliver(self, messages: Mapping[str, bytes], seconds: float) -> dict[str, bytes]:
        """Send each site its message and return the replies that came."""


class Exchange:
    """A channel to the sites (see `privee.vfl.messages.Channel`), over any post.

    Args:
        post: what carries the bytes.
        session: 16 bytes that belong to this job alone.
        step_seconds: seconds a site may take for a training step before the job ends.

    Attributes:
        fitting: once the run's sizes are known, what replies to training steps must look like.
    """

    def __init__(
        self, post: Post, session: bytes, *, step_seconds: float = 30.0, packing: Packing = Packing.EXACT
    ) -> None:
        self._post, self._session, self._step_seconds, self._packing = post, session, step_seconds, packing
        self._steps: dict[str, int] = {}
        self.cost = Cost()
        self.fitting: ReplyChecks | None = None

    def ask(self, requests: Mapping[str, Message]) -> dict[str, Message]:
        """Send each named site its message and return their replies."""
        replies: dict[str, Message] = {}
        for site, reply in self.talk(requests, self._step_seconds).items():
            if isinstance(reply, Note | SiteFailure):
                raise SiteError(f"site {site} answered a training step with a note")
            if self.fitting is not None:
                self.fitting.check(site, requests[site], reply)
            replies[site] = reply
        return replies

    def talk(self, requests: Mapping[str, Content], seconds: float) -> dict[str, Content]:
        """The same for any content, with a time of its own."""
        for site in requests:
            self._steps[site] = self._steps.get(site, 0) + 1
        frames = {site: Frame(self._session, self._steps[site], content) for site, content in requests.items()}
        messages = {site: encode(frame, self._packing) for site, frame in frames.items()}
        started = time.perf_counter()
        found = self._delivered(messages, seconds)
        replies = {site: _decoded(site, data) for site, data in found.items()}
        seconds = time.perf_counter() - started
        busy = min(seconds, max(frame.busy for frame in replies.values()) / 1e6)
        kind = kind_of(next(iter(requests.values())))
        self.cost.count(kind, messages.values(), found.values(), seconds, busy)
        return {site: self._content(site, replies[site]) for site in requests}

    def _delivered(self, messages: dict[str, bytes], seconds: float) -> dict[str, bytes]:
        """Ask those again that are silent, at growing intervals: a repeated step changes nothing at a site."""
        replies: dict[str, bytes] = {}
        silent, wait, end = messages, FIRST_WAIT, time.monotonic() + seconds
        while silent:
            left = end - time.monotonic()
            if left <= 0:
                raise SiteLostError(next(iter(silent)), f"did not answer in {seconds:g} s")
            try:
                replies |= self._post.deliver(silent, min(wait, left))
            except StoppedError:
                raise SiteLostError(next(iter(silent)), "stopped, or the job was aborted") from None
            silent = {site: data for site, data in messages.items() if site not in replies}
            wait = min(2 * wait, LONGEST_WAIT)
        return replies

    def _content(self, site: str, frame: Frame) -> Content:
        if isinstance(frame.content, SiteFailure):
            raise SiteError(f"site {site}: {frame.content.words}")
        if frame.session != self._session or frame.step != self._steps[site]:
            raise SiteError(f"site {site} answered another message")
        return frame.content

    def note(self, site: str, note: Note, seconds: float) -> Note:
        """One note to one site."""
        return self.notes({site: note}, seconds)[site]

    def notes(self, notes: Mapping[str, Note], seconds: float) -> dict[str, Note]:
        """Notes to several sites at once."""
        replies: dict[str, Note] = {}
        for site, reply in self.talk(notes, seconds).items():
            if not isinstance(reply, Note):
                raise SiteError(f"site {site} answered a note with {type(reply).__name__}")
            replies[site] = reply
        return replies


def _decoded(site: str, data: bytes) -> Frame:
    try:
        return decode(data)
    except FrameError as error:
        raise SiteError(f"site {site} sent no proper message: {error}") from None


REMEMBERED = 4096


def kind_of(content: Content) -> str:
    """Training steps apart from evaluation, and notes by their name."""
    if isinstance(content, Note):
        return f"note {content.name}"
    if isinstance(content, WorkAndLogits):
        return "training work and logits"
    training = isinstance(content, Work | Logits) and content.train
    return ("training " if training else "") + type(content).__name__.lower()


class Cost:
    """Bytes in all, and the last exchanges of each kind: seconds, and seconds without the slowest site's own work."""

    def __init__(self) -> None:
        self.exchanges, self.sent, self.received = 0, 0, 0
        self._steps: deque[float] = deque(maxlen=REMEMBERED)
        self._last: dict[str, deque[tuple[float, float, int, int]]] = {}

    def count(self, kind: str, sent: Iterable[bytes], received: Iterable[bytes], seconds: float, busy: float) -> None:
        """Add one exchange to the cost."""
        there, back = sum(map(len, sent)), sum(map(len, received))
        self.exchanges, self.sent, self.received = self.exchanges + 1, self.sent + there, self.received + back
        self._last.setdefault(kind, deque(maxlen=REMEMBERED)).append((seconds, seconds - busy, there, back))

    def step(self) -> None:
        """A training step is done."""
        self._steps.append(time.perf_counter())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; medians of the last exchanges of each kind."""
        apart = [later - earlier for earlier, later in itertools.pairwise(self._steps)]
        totals: dict[str, float] = {"exchanges": self.exchanges, "sent": self.sent, "received": self.received}
        totals |= {"step": statistics.median(apart)} if apart else {}
        return totals | {"kinds": {kind: _medians(last) for kind, last in sorted(self._last.items())}}


def _medians(last: Iterable[tuple[float, float, int, int]]) -> dict[str, float]:
    names = ("seconds", "transport", "sent", "received")
    columns = list(zip(*last, strict=True))
    return {"count": len(columns[0])} | {
        name: statistics.median(values) for name, values in zip(names, columns, strict=True)
    }

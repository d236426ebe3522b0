"""The gateway's connection to one party: first contact, then calls, with retries where there is none.

How long it waits and how often it asks is `PartyTimeouts`. What a failed call means is told in our words, never in the
party's own.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import Awaitable, Callable

import numpy as np
from grpc import StatusCode, aio

from privee.errors import FrameError, PriveeError, SettingError
from privee.gateway.channel.batching import BatchAnswer, Batcher, Floats
from privee.gateway.channel.call_names import Attempts, CallNames
from privee.net import Address
from privee.party.errors import Kind, PartyError, PartyUnavailableError, party_error
from privee.party.wire import (
    ABOUT,
    BAD_COLUMNS,
    CHANNEL_OPTIONS,
    EMBED,
    LEDGER_FAILED,
    MAX_BYTES,
    PARTY_BUDGET,
    STORE_FAILED,
    About,
    EmbedReply,
    EmbedRequest,
    channel_credentials,
)
from privee.pki.identity import Identity, party_name


class PartyConnection:
    """Talks to one party. Made anywhere, used in one event loop."""

    unchanging = False

    def __init__(
        self,
        name: str,
        address: Address,
        identity: Identity | None,
        timeouts: PartyTimeouts,
        *,
        max_batch: int,
        in_flight: int,
        expected_weights: str | None,
        calls: CallNames | None = None,
    ) -> None:
        self.name, self._address, self._identity, self._timeouts = name, address, identity, timeouts
        self._max_batch, self._expected, self._calls = max_batch, expected_weights, calls
        self._batcher = Batcher(self._send, self._late, in_flight=in_flight)
        self._channel: aio.Channel | None = None
        self._closed = False
        self._about: About | None = None
        self._width: int | None = None
        self._contacting: asyncio.Task[About] | None = None

    @property
    def features(self) -> int | None:
        """Numbers in a row of the party's columns; None before the first contact."""
        return None if self._about is None else self._about.features

    def embeddings(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> Awaitable[BatchAnswer]:
        """Embeddings for these entities, by `expires` in the event loop's time; on their way before it is awaited."""
        if self._about is not None and len(entities) <= (largest := self._largest(self._about, columns)):
            return self._batcher.ask(entities, columns, expires, largest)  # neither task nor timer of its own
        return asyncio.ensure_future(self._in_parts(entities, columns, expires))

    async def _in_parts(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> BatchAnswer:
        """The same before the first contact, or with more entities than fit into a call."""
        try:
            async with asyncio.timeout_at(expires):
                about = self._about or await self._contact()
                return await self._batcher.ask_in_parts(entities, columns, expires, self._largest(about, columns))
        except TimeoutError:
            raise self._late() from None

    async def about(self, expires: float) -> About:
        """Ask the party what it is, and check that it is the expected one."""
        try:
            about = About.decode(await self._call(ABOUT, lambda: b"", expires))
        except FrameError:
            raise self._error("mismatch", "does not answer as a party of this version of privee does") from None
        if about.party != self.name:
            raise self._error("mismatch", "is another party than its address should lead to: check the addresses")
        if self._expected not in (None, about.weights):
            raise self._error(
                "mismatch", "serves other weights than the run's: give it the run's folder and restart it"
            )
        if self._width not in (None, about.width):
            raise self._error("mismatch", "answers with another width than before: restart the gateway")
        self._about, self._width = about, about.width
        return about

    async def close(self) -> None:
        """Close the connection; what is under way fails."""
        self._closed = True
        await self._batcher.close(self._stopped())
        if self._contacting is not None:
            self._contacting.cancel()
        if self._channel is not None:
            await self._channel.close()

    async def _contact(self) -> About:
        """First contact, made once for all requests that wait for it."""
        if self._contacting is None:
            loop = asyncio.get_running_loop()
            self._contacting = loop.create_task(self.about(loop.time() + self._timeouts.deadline))
            self._contacting.add_done_callback(self._contacted)
        try:
            return await asyncio.shield(self._contacting)
        except PartyError as error:
            raise error.again() from None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._closed or task is None or task.cancelling():
                raise
            raise self._stopped() from None

    def _contacted(self, task: asyncio.Task[About]) -> None:
        self._contacting = None
        if not task.cancelled():
            task.exception()  # asked for, though perhaps nobody waits any more

    def _largest(self, about: About, columns: Floats | None) -> int:
        """How many entities fit into one call."""
        if columns is None:
            return self._max_batch
        check_width(columns, about.features)
        return max(1, min(self._max_batch, MAX_BYTES // 2 // (4 * about.features)))

    async def _send(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> BatchAnswer:
        """One call for embeddings, its answer checked."""
        wanted = self._about is not None and self._about.receipts
        attempts = Attempts(self._calls if wanted else None, self.name, len(entities))
        with attempts.noted():
            frame = await self._call(EMBED, lambda: EmbedRequest(entities, columns, attempts.name()).encode(), expires)
        try:
            reply = EmbedReply.decode(frame, len(entities))
        except FrameError:
            raise self._error("mismatch", "sent embeddings that cannot be right") from None
        about, embeddings = self._about, embeddings_in(reply)
        same = about is not None and (reply.weights, reply.n_codes) == (about.weights, about.codes)
        if about is None or not same or embeddings.shape[1] != about.width:
            self._about = None  # it was restarted with something else: the next request makes contact anew
            raise self._error("mismatch", "answers with other weights than before; ask again")
        return BatchAnswer(embeddings, reply.unknown)

    async def _call(self, method: str, frame: Callable[[], bytes], expires: float) -> bytes:
        """One call, made again if there was no connection."""
        loop = asyncio.get_running_loop()
        for attempt in range(1, self._timeouts.attempts + 1):
            remaining = expires - loop.time()
            if remaining <= 0:
                raise self._late()
            try:
                answer: bytes = await self._open().unary_unary(method)(frame(), timeout=remaining)
                return answer
            except aio.AioRpcError as error:
                failure = failure_of(self.name, error.code(), error.details() or "", self._timeouts)
                again = error.code() is StatusCode.UNAVAILABLE and failure.kind == "unreachable"
                if not again or attempt == self._timeouts.attempts:
                    raise failure from None
            await asyncio.sleep(min(self._timeouts.backoff * 2 ** (attempt - 1), max(0.0, expires - loop.time())))
        raise self._late()

    def _open(self) -> aio.Channel:
        if self._closed:
            raise self._stopped()
        if self._channel is None:
            if self._identity is None:
                self._channel = aio.insecure_channel(str(self._address), options=CHANNEL_OPTIONS)
            else:
                mine = self._identity
                # The certificate must be this party's, wherever it listens: one party cannot pose as another.
                options = [*CHANNEL_OPTIONS, ("grpc.ssl_target_name_override", party_name(self.name))]
                credentials = channel_credentials(mine.ca, mine.cert, mine.key)
                self._channel = aio.secure_channel(str(self._address), credentials, options=options)
        return self._channel

    def _late(self) -> PartyError:
        return late(self.name, self._timeouts)

    def _stopped(self) -> PartyError:
        return self._error("unreachable", "is not asked any more: the gateway stops")

    def _error(self, kind: Kind, words: str) -> PartyError:
        return party_error(self.name, kind, words)


def check_width(columns: Floats | None, features: int) -> None:
    """Refuse columns of another width than the active party's."""
    if columns is not None and columns.shape[1] != features:
        raise PriveeError(f"columns must have {features} features, those of the active party, encoded")


def embeddings_in(reply: EmbedReply) -> Floats:
    """A sealed party's codes are a column of whole numbers."""
    if reply.embeddings is not None:
        return reply.embeddings
    if reply.codes is None:
        raise FrameError("a reply has embeddings or codes")
    return reply.codes.astype(np.float32).reshape(-1, 1)


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
_BY_WORD: dict[str, tuple[Kind, str]] = {
    STORE_FAILED: ("refused", "cannot read its data now; see its log"),
    BAD_COLUMNS: ("refused", "does not take these columns"),
    LEDGER_FAILED: ("refused", "cannot write its own ledger now; see its log"),
    PARTY_BUDGET: ("budget", "refuses some of these entities: they have given all that its own ledger allows"),
}


def failure_of(party: str, code: StatusCode, details: str, timeouts: PartyTimeouts) -> PartyError:
    """The error that a status of gRPC stands for."""
    if code is StatusCode.DEADLINE_EXCEEDED:
        return late(party, timeouts)
    if code is StatusCode.UNAVAILABLE and _CERTIFICATE.search(details):
        return PartyError(party, "refused", "has not shown a certificate of its own name and of the same CA")
    if code in _BY_CODE:
        return party_error(party, *_BY_CODE[code])
    return said_by(party, details)


def said_by(party: str, word: str) -> PartyError:
    """The error that a party's own word stands for."""
    return PartyError(party, *_BY_WORD.get(word, ("refused", "could not do the work; see its log")))


def late(party: str, timeouts: PartyTimeouts) -> PartyError:
    """It did not answer in time."""
    return PartyUnavailableError(party, "deadline", f"did not answer in {timeouts.deadline:.1f} s")


@dataclasses.dataclass(frozen=True)
class PartyTimeouts:
    """How long to wait for parties.

    Attributes:
        deadline: Seconds for a whole request, retries included.
        attempts: Calls in all, if there is no connection.
        backoff: Seconds before the second attempt; it doubles with every further one.
    """

    deadline: float = 2.0
    attempts: int = 3
    backoff: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.deadline < 3600 or self.attempts < 1 or not 0 <= self.backoff < 3600:
            raise SettingError("the deadline must be above 0 s, attempts 1 or more, and the backoff not negative")

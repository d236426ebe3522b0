"""The gateway's line to one party: first contact, calls with retries, and what their failures mean."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import grpc
from grpc import aio

from privee.errors import PriveeError, SettingError
from privee.gateway.parties.addresses import Address
from privee.gateway.parties.batching import Answer, Batcher, Floats
from privee.gateway.parties.errors import Kind, PartyError
from privee.gateway.parties.frames import MAX_BYTES, About, EmbedReply, EmbedRequest, FrameError
from privee.gateway.parties.roles import party_name
from privee.gateway.parties.tls import Identity
from privee.gateway.parties.wire import ABOUT, BAD_COLUMNS, CHANNEL_OPTIONS, EMBED, STORE_FAILED, channel_credentials

_CERTIFICATE = re.compile("handshake failed|certificate|peer name", re.IGNORECASE)
_Code = grpc.StatusCode


@dataclass(frozen=True)
class Patience:
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


class PartyLine:
    """Talks to one party. Made anywhere, used in one event loop."""

    def __init__(
        self,
        name: str,
        address: Address,
        identity: Identity | None,
        patience: Patience,
        *,
        max_batch: int,
        in_flight: int,
        expected_weights: str | None,
    ) -> None:
        self.name, self._address, self._identity, self._patience = name, address, identity, patience
        self._max_batch, self._expected = max_batch, expected_weights
        self._batcher = Batcher(self._send, in_flight=in_flight)
        self._channel: aio.Channel | None = None
        self._closed = False
        self._about: About | None = None
        self._contacting: asyncio.Task[About] | None = None

    async def embeddings(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> Answer:
        """Embeddings for these entities, by `expires` in the event loop's time."""
        try:
            async with asyncio.timeout_at(expires):
                about = self._about or await self._contact()
                largest = self._largest(about, columns)
                return await self._batcher.ask(entities, columns, expires, largest)
        except TimeoutError:
            raise self._late() from None

    async def about(self, expires: float) -> About:
        """Ask the party what it is, and check that it is the expected one."""
        try:
            about = About.decode(await self._call(ABOUT, b"", expires))
        except FrameError:
            raise self._error("mismatch", "does not answer as a party of this version of privee does") from None
        if about.party != self.name:
            raise self._error("mismatch", "is another party than its address should lead to: check the addresses")
        if self._expected not in (None, about.weights):
            raise self._error(
                "mismatch", "serves other weights than the run's: give it the run's folder and restart it"
            )
        if self._about is not None and about.width != self._about.width:
            raise self._error("mismatch", "answers with another width than before: restart the gateway")
        self._about = about
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
            self._contacting = loop.create_task(self.about(loop.time() + self._patience.deadline))
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
        if columns.shape[1] != about.features:
            raise PriveeError(f"columns must have {about.features} features, those of the active party, encoded")
        return max(1, min(self._max_batch, MAX_BYTES // 2 // (4 * about.features)))

    async def _send(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> Answer:
        """One call for embeddings, its answer checked."""
        frame = await self._call(EMBED, EmbedRequest(entities, columns).encode(), expires)
        try:
            reply = EmbedReply.decode(frame, len(entities))
        except FrameError:
            raise self._error("mismatch", "sent embeddings that cannot be right") from None
        about = self._about
        if about is None or reply.weights != about.weights or reply.embeddings.shape[1] != about.width:
            self._about = None  # it was restarted with something else: the next request makes contact anew
            raise self._error("mismatch", "answers with other weights than before; ask again")
        return Answer(reply.embeddings, reply.unknown)

    async def _call(self, method: str, frame: bytes, expires: float) -> bytes:
        """One call, made again if there was no connection."""
        loop = asyncio.get_running_loop()
        for attempt in range(1, self._patience.attempts + 1):
            remaining = expires - loop.time()
            if remaining <= 0:
                raise self._late()
            try:
                answer: bytes = await self._open().unary_unary(method)(frame, timeout=remaining)
                return answer
            except aio.AioRpcError as error:
                failure = self._failure(error)
                if failure.kind != "unreachable" or attempt == self._patience.attempts:
                    raise failure from None
            await asyncio.sleep(min(self._patience.backoff * 2 ** (attempt - 1), max(0.0, expires - loop.time())))
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

    def _failure(self, error: Any) -> PartyError:
        """What a failed call means. The party's own words are not passed on."""
        code, details = error.code(), error.details() or ""
        if code is _Code.DEADLINE_EXCEEDED:
            return self._late()
        if code is _Code.UNAVAILABLE and _CERTIFICATE.search(details):
            return self._error("refused", "has not shown a certificate of its own name and of the same CA")
        if code in (_Code.UNAVAILABLE, _Code.CANCELLED):
            return self._error("unreachable", "cannot be reached")
        words = {
            _Code.PERMISSION_DENIED: "does not take this gateway for the coordinator: check its certificate",
            _Code.RESOURCE_EXHAUSTED: "has too much to do, or the message was too large",
        }
        if code in words:
            return self._error("refused", words[code])
        if code is _Code.UNIMPLEMENTED:
            return self._error("mismatch", "does not answer as a party of privee does")
        reasons = {STORE_FAILED: "cannot read its data now; see its log", BAD_COLUMNS: "does not take these columns"}
        return self._error("refused", reasons.get(details, "could not do the work; see its log"))

    def _late(self) -> PartyError:
        return self._error("deadline", f"did not answer in {self._patience.deadline:.1f} s")

    def _stopped(self) -> PartyError:
        return self._error("unreachable", "is not asked any more: the gateway stops")

    def _error(self, kind: Kind, words: str) -> PartyError:
        return PartyError(self.name, kind, words)

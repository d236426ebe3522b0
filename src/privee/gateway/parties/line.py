"""The gateway's line to one party: first contact, then calls, with retries where there is no connection."""

from __future__ import annotations

import asyncio

from grpc import StatusCode, aio

from privee.errors import FrameError, PriveeError
from privee.gateway.parties.addresses import Address
from privee.gateway.parties.batching import Answer, Batcher, Floats
from privee.gateway.parties.errors import Kind, PartyError, party_error
from privee.gateway.parties.failures import failure_of, late
from privee.gateway.parties.frames import MAX_BYTES, About, EmbedReply, EmbedRequest
from privee.gateway.parties.patience import Patience
from privee.gateway.parties.roles import party_name
from privee.gateway.parties.tls import Identity
from privee.gateway.parties.wire import ABOUT, CHANNEL_OPTIONS, EMBED, channel_credentials


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
        self._width: int | None = None
        self._contacting: asyncio.Task[About] | None = None

    @property
    def features(self) -> int | None:
        """Numbers in a row of the party's columns; None before the first contact."""
        return None if self._about is None else self._about.features

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
                failure = failure_of(self.name, error.code(), error.details() or "", self._patience)
                again = error.code() is StatusCode.UNAVAILABLE and failure.kind == "unreachable"
                if not again or attempt == self._patience.attempts:
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

    def _late(self) -> PartyError:
        return late(self.name, self._patience)

    def _stopped(self) -> PartyError:
        return self._error("unreachable", "is not asked any more: the gateway stops")

    def _error(self, kind: Kind, words: str) -> PartyError:
        return party_error(self.name, kind, words)

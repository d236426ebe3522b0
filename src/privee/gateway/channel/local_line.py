"""The active party in the gateway's own process: the same code as its server's, without a network between them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from privee.durable.database import LedgerUnavailableError
from privee.errors import PriveeError
from privee.gateway.channel.batching import BatchAnswer, Floats
from privee.gateway.channel.call_names import Attempts, CallNames
from privee.gateway.channel.connection import PartyTimeouts, check_width, embeddings_in, late, said_by
from privee.logs import log
from privee.party.errors import PartyBudgetError, PartyError
from privee.party.server import PartyHandler
from privee.party.stores import StoreError
from privee.party.wire import BAD_COLUMNS, LEDGER_FAILED, PARTY_BUDGET, STORE_FAILED, About, EmbedReply, EmbedRequest

_WORDS: Mapping[type[PriveeError], str] = {
    StoreError: STORE_FAILED,
    LedgerUnavailableError: LEDGER_FAILED,
    PartyBudgetError: PARTY_BUDGET,
    PriveeError: BAD_COLUMNS,
}
"""What a server would say; the first that fits."""


class LocalLine:
    """Stands where a connection to the party would: the same questions, answers, refusals and names of calls.

    Args:
        party: answers; closed with this.
        timeouts: how long it may take.
        calls: names each call, if the party keeps a ledger of its own.
    """

    def __init__(self, party: PartyHandler, timeouts: PartyTimeouts, calls: CallNames | None = None) -> None:
        self.name, self._party, self._timeouts = party.about.party, party, timeouts
        self._calls = calls if party.about.receipts else None

    @property
    def features(self) -> int:
        """Numbers in a row of the party's columns."""
        return self._party.about.features

    @property
    def unchanging(self) -> bool:
        """Whether its table was read once, and it counts nothing by itself."""
        return not self._party.waits

    async def embeddings(self, entities: tuple[str, ...], columns: Floats | None, expires: float) -> BatchAnswer:
        """Embeddings for these entities, by `expires` in the event loop's time."""
        check_width(columns, self.features)
        attempts = Attempts(self._calls, self.name, len(entities))
        with attempts.noted():
            reply = await self._reply(EmbedRequest(entities, columns, attempts.name()), expires)
        return BatchAnswer(embeddings_in(reply), reply.unknown)

    async def about(self, expires: float) -> About:
        """What its server would say of itself."""
        return self._party.about

    async def close(self) -> None:
        """Let go of its table and its ledger."""
        self._party.close()

    async def _reply(self, request: EmbedRequest, expires: float) -> EmbedReply:
        try:
            if not self._party.waits:
                return self._party.reply(request)
            async with asyncio.timeout_at(expires):
                return await self._party.in_thread(self._party.reply, request)
        except TimeoutError:
            raise late(self.name, self._timeouts) from None
        except PriveeError as error:
            raise self._failure(error) from None

    def _failure(self, error: PriveeError) -> PartyError:
        word = next(word for kind, word in _WORDS.items() if isinstance(error, kind))
        log("party failed", level=logging.WARNING, party=self.name, reason=word)
        return said_by(self.name, word)

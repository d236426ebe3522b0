"""One party's server: embeddings for entities, from its own store and weights, for the coordinator alone.

Who may call is decided by the certificate, before anything of a call's message is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn, TypeVar

import grpc
import numpy as np
from grpc import aio

from privee.durable.database import LedgerUnavailableError
from privee.errors import FrameError, PriveeError
from privee.logs import log
from privee.net import Address, require_loopback
from privee.party.answers import ServedModel, check_columns, reply_to
from privee.party.errors import PartyBudgetError
from privee.party.ledger import PartyLedger
from privee.party.stores import Store, StoreError, in_memory
from privee.party.wire import (
    BAD_COLUMNS,
    LEDGER_FAILED,
    PARTY_BUDGET,
    SERVER_OPTIONS,
    SERVICE,
    STORE_FAILED,
    About,
    EmbedReply,
    EmbedRequest,
    server_credentials,
)
from privee.pki.identity import COORDINATOR, COORDINATOR_NAME, Identity

Result = TypeVar("Result")
WORKERS = 4
INLINE_SECONDS = 0.002  # of work on the event loop: others wait as long as they would for a turn of the interpreter
READ_SECONDS = 30.0  # for a call's message to come
GRACE = 5.0  # seconds for calls in flight when stopping


class PartyHandler:
    """Answers the two methods. The event loop reads and writes; work that would hold it up is done in threads."""

    def __init__(
        self, about: About, model: ServedModel, store: Store, *, tls: bool, ledger: PartyLedger | None = None
    ) -> None:
        self.about, self._model, self._store, self._ledger = about, model, store, ledger
        self._admission = Admission(tls=tls)
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="embed")
        self._byte_seconds = INLINE_SECONDS  # before the first message: too long for the event loop

    def handler(self) -> Any:
        """For gRPC: bytes in, bytes out. As streams, of one message: any other is read before its caller is known."""
        methods = {"Embed": self._embed, "About": self._describe}
        handlers = {name: grpc.stream_unary_rpc_method_handler(method) for name, method in methods.items()}
        return grpc.method_handlers_generic_handler(SERVICE, handlers)

    def close(self) -> None:
        """Let go of threads and connections."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._store.close()
        if self._ledger is not None:
            self._ledger.close()

    async def _describe(self, _: AsyncIterator[bytes], context: aio.ServicerContext) -> bytes:
        async with self._admission.admitted(context):
            return self.about.encode()

    async def _embed(self, frames: AsyncIterator[bytes], context: aio.ServicerContext) -> bytes:
        async with self._admission.admitted(context):
            return await self._embedded(await _only(frames, context), context)

    async def _embedded(self, frame: bytes, context: aio.ServicerContext) -> bytes:
        started = time.perf_counter()
        try:
            count, unknown, reply = await self._answered(frame)
        except FrameError:
            await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "not a valid message")
        except StoreError as error:
            log("store failed", level=logging.ERROR, reason=str(error))
            await refuse(context, grpc.StatusCode.INTERNAL, STORE_FAILED)
        except LedgerUnavailableError as error:
            log("ledger failed", level=logging.ERROR, reason=str(error))
            await refuse(context, grpc.StatusCode.INTERNAL, LEDGER_FAILED)
        except PartyBudgetError as error:
            log("over budget", level=logging.WARNING, reason=str(error))
            await refuse(context, grpc.StatusCode.FAILED_PRECONDITION, PARTY_BUDGET)
        except PriveeError:
            await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, BAD_COLUMNS)
        except Exception as error:
            log("failed", level=logging.ERROR, error=error)
            await refuse(context, grpc.StatusCode.INTERNAL, "failed")
        seconds = round(time.perf_counter() - started, 6)
        log("embedded", count=count, unknown=unknown, seconds=seconds, peer=COORDINATOR)
        return reply

    async def _answered(self, frame: bytes) -> tuple[int, int, bytes]:
        """On the event loop if that is soon done, by what a byte of the last message's ids took: else in a thread."""
        if not self.waits and _id_bytes(frame) * self._byte_seconds < INLINE_SECONDS:
            return self.answer(frame)
        return await self.in_thread(self.answer, frame)

    def answer(self, frame: bytes) -> tuple[int, int, bytes]:
        """How many entities were asked for, how many are unknown, and the reply."""
        started = time.perf_counter()
        request = EmbedRequest.decode(frame)
        reply = self.reply(request)
        encoded = reply.encode()
        self._byte_seconds = (time.perf_counter() - started) / _id_bytes(frame)
        return len(request.entities), len(reply.unknown), encoded

    def reply(self, request: EmbedRequest) -> EmbedReply:
        """The same, of a message and as one."""
        columns, unknown = self._columns(request)
        return reply_to(request, columns, unknown, self._model, self._ledger)

    @property
    def waits(self) -> bool:
        """Whether a reply waits for a disk or a database, and so belongs on a thread."""
        return self._ledger is not None or not in_memory(self._store)

    async def in_thread(self, work: Callable[..., Result], *args: Any) -> Result:
        """Do this on one of the party's threads."""
        return await asyncio.get_running_loop().run_in_executor(self._workers, work, *args)

    def _columns(self, request: EmbedRequest) -> tuple[np.ndarray, np.ndarray]:
        """Columns, and which entities are unknown. Those that bring columns are looked up all the same.

        Else columns would tell whether the other parties know an id that this one does not.
        """
        found = self._store.find(request.entities)
        check_columns(request, self._model, self.about.features)
        return found if request.columns is None else (request.columns, found.unknown)


@dataclasses.dataclass
class PartyServer:
    """A server that listens."""

    address: Address
    _server: aio.Server

    @classmethod
    async def start(cls, service: PartyHandler, listen: Address, identity: Identity | None) -> PartyServer:
        """Listen; port 0 picks a free one."""
        server = aio.server(options=SERVER_OPTIONS)
        server.add_generic_rpc_handlers((service.handler(),))
        try:
            if identity is None:
                require_loopback(listen, "give --certs, made with `privee certs init`")
                port = server.add_insecure_port(str(listen))
            else:
                credentials = server_credentials(identity.ca, identity.cert, identity.key)
                port = server.add_secure_port(str(listen), credentials)
        except RuntimeError:
            port = 0
        if port == 0:
            raise PriveeError(f"cannot listen on {listen}: it is taken, or not an address of this machine")
        await server.start()
        return cls(listen._replace(port=port), server)

    async def stop(self, grace: float = GRACE) -> None:
        """Take no more calls and let those in flight end."""
        await self._server.stop(grace)


def _id_bytes(frame: bytes) -> int:
    """How long a message's header is, hence nearly its ids; columns behind it take little time."""
    return int.from_bytes(frame[:4], "big")


async def _only(frames: AsyncIterator[bytes], context: aio.ServicerContext) -> bytes:
    """A call's message; whatever comes after it is not read."""
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await anext(aiter(frames))
    except TimeoutError:
        await refuse(context, grpc.StatusCode.DEADLINE_EXCEEDED, "no message came")
    except StopAsyncIteration:
        await refuse(context, grpc.StatusCode.INVALID_ARGUMENT, "not a valid message")


MOST_CALLS = 64  # of the coordinator's at once; more are turned away, not queued
TELL_SECONDS = 1.0  # refusals are told this often at most: whoever is refused must not fill a disk


class Admission:
    """Lets the coordinator's calls in, up to a number. Others' end at once, so that they take nothing from its."""

    def __init__(self, *, tls: bool) -> None:
        self._tls = tls
        self._calls = 0
        self._refused, self._told = 0, -TELL_SECONDS

    @contextlib.asynccontextmanager
    async def admitted(self, context: aio.ServicerContext) -> AsyncIterator[None]:
        """Around a call; ends it if it may not be made."""
        if self._tls and not _is_coordinator(context):
            self._tell()
            await refuse(context, grpc.StatusCode.PERMISSION_DENIED, "only the coordinator may ask")
        if self._calls >= MOST_CALLS:
            await refuse(context, grpc.StatusCode.RESOURCE_EXHAUSTED, "too many calls at once")
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1

    def _tell(self) -> None:
        self._refused += 1
        now = time.monotonic()
        if now - self._told >= TELL_SECONDS:
            log("refused", level=logging.WARNING, peer="other", calls=self._refused)
            self._refused, self._told = 0, now


async def refuse(context: aio.ServicerContext, code: grpc.StatusCode, word: str) -> NoReturn:
    """End a call with a status."""
    await context.abort(code, word)
    raise AssertionError  # abort always raises


def _is_coordinator(context: aio.ServicerContext) -> bool:
    names = (context.auth_context() or {}).get("x509_subject_alternative_name", ())
    return COORDINATOR_NAME.encode() in names

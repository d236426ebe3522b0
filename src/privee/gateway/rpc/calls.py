"""Around every call: its key before its message, one line for each failure, metrics and one line of log.

A call that was read is worked on to its end even if its caller is gone, as a request is over HTTP.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, TypeAlias

import grpc
from grpc import aio
from starlette.datastructures import State

from privee.gateway.http.access import NO_KEY
from privee.gateway.http.middleware import BODY_SECONDS, ID
from privee.gateway.http.problems import DeniedError, Told, told_of
from privee.gateway.ledger.api_keys import KeyRecord
from privee.gateway.rpc.bounds import NOT_A_MESSAGE
from privee.logs import log
from privee.party.server import refuse

Code: TypeAlias = grpc.StatusCode
CODES = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    408: Code.DEADLINE_EXCEEDED,
    413: Code.RESOURCE_EXHAUSTED,
    429: Code.RESOURCE_EXHAUSTED,
    502: Code.FAILED_PRECONDITION,  # a party serves another model: to ask again will not help
    503: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}
MOST_STRANGERS, STRANGER_BYTES, STRANGER_SECONDS = 16, 4096, 5.0
"""Calls without a key whose message is read at the same time, how long it may be, and how long it may take."""


@dataclasses.dataclass(frozen=True, eq=False)
class Call:
    """A call under way: its message, who makes it, and what the log is to say of it."""

    message: bytes
    key: KeyRecord | None
    note: dict[str, Any]

    @property
    def known(self) -> KeyRecord:
        """The key, of a method that needs one."""
        if self.key is None:
            raise NO_KEY
        return self.key


@dataclasses.dataclass(frozen=True)
class Method:
    """How one method is answered; `keyed` if it needs a key, `reads` if its message says anything."""

    work: Callable[[Call], Awaitable[bytes]]
    keyed: bool = False
    reads: bool = True


class Calls:
    """Serves methods with an application's state: its service, metrics and keys."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._strangers = 0
        self._working: set[asyncio.Task[bytes | Told]] = set()

    def handler(self, name: str, method: Method) -> Any:
        """For gRPC. As a stream of one message: any other is read before its caller is known."""

        async def answer(frames: AsyncIterator[bytes], context: aio.ServicerContext) -> bytes:
            started, note = time.perf_counter(), {"request_id": _request_id(context)}
            try:
                call = await self._read(method, frames, context, note)
            except asyncio.CancelledError:
                self._note(name, Code.CANCELLED, started, note)
                raise
            except Exception as error:
                outcome: bytes | Told = self._told(error, note)
                self._note(name, _code(outcome), started, note)
            else:
                outcome = await asyncio.shield(self._begin(name, method, call, started))
            return outcome if isinstance(outcome, bytes) else await _end(context, outcome, note)

        return grpc.stream_unary_rpc_method_handler(answer)

    async def finish(self, seconds: float) -> None:
        """Let work whose callers are gone end."""
        if self._working:
            _, late = await asyncio.wait(self._working, timeout=seconds)
            for task in late:
                task.cancel()

    def _begin(self, name: str, method: Method, call: Call, started: float) -> asyncio.Task[bytes | Told]:
        task = asyncio.create_task(self._work(name, method, call, started))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    async def _work(self, name: str, method: Method, call: Call, started: float) -> bytes | Told:
        outcome: bytes | Told
        try:
            outcome = await method.work(call)
        except Exception as error:
            outcome = self._told(error, call.note)
        self._note(name, _code(outcome), started, call.note)
        return outcome

    async def _read(
        self, method: Method, frames: AsyncIterator[bytes], context: aio.ServicerContext, note: dict[str, Any]
    ) -> Call:
        if not method.keyed:
            return Call(await self._stranger(frames) if method.reads else b"", None, note)
        key = await self._state.access.known(_metadata(context, "authorization"))
        note["key"] = key.id
        self._state.access.count(key)
        return Call(await _message(frames, BODY_SECONDS), key, note)

    async def _stranger(self, frames: AsyncIterator[bytes]) -> bytes:
        if self._strangers >= MOST_STRANGERS:
            raise DeniedError(503, "busy", "too many calls without a key at once")
        self._strangers += 1
        try:
            message = await _message(frames, STRANGER_SECONDS)
        finally:
            self._strangers -= 1
        if len(message) > STRANGER_BYTES:
            raise DeniedError(413, "too-large", f"a call without a key may have {STRANGER_BYTES} bytes")
        return message

    def _told(self, error: Exception, note: dict[str, Any]) -> Told:
        try:
            return told_of(error, self._state.metrics)
        except Exception as unforeseen:
            log("failed", level=logging.ERROR, error=unforeseen, request_id=note["request_id"])
            return Told(500, "internal", "something went wrong here; nothing was released")

    def _note(self, name: str, code: Code, started: float, note: dict[str, Any]) -> None:
        seconds = time.perf_counter() - started
        self._state.metrics.note_call(name, code.name, seconds)
        failed = code in (Code.INTERNAL, Code.UNAVAILABLE, Code.FAILED_PRECONDITION)
        log(
            "request",
            level=logging.WARNING if failed else logging.INFO,
            method="gRPC",
            route=name,
            code=code.name,
            seconds=round(seconds, 6),
            **note,
        )


async def _message(frames: AsyncIterator[bytes], seconds: float) -> bytes:
    """A call's message; whatever comes after it is not read."""
    try:
        async with asyncio.timeout(seconds):
            return await anext(aiter(frames))
    except TimeoutError:
        raise DeniedError(408, "too-slow", "the call's message did not arrive in time") from None
    except StopAsyncIteration:
        raise DeniedError(400, "bad-request", NOT_A_MESSAGE) from None


async def _end(context: aio.ServicerContext, told: Told, note: dict[str, Any]) -> bytes:
    """End a call with one line; its code, and when to come back, go along as HTTP's headers do."""
    more = {"privee-code": told.code, "x-request-id": note["request_id"]}
    if "retry-after" in told.headers:
        more["retry-after"] = told.headers["retry-after"]
    context.set_trailing_metadata(tuple(more.items()))
    await refuse(context, _code(told), told.words)


def _code(outcome: bytes | Told) -> Code:
    return Code.OK if isinstance(outcome, bytes) else CODES.get(outcome.status, Code.INTERNAL)


def _metadata(context: aio.ServicerContext, name: str) -> str:
    found = [value for key, value in context.invocation_metadata() or () if key == name]
    return found[-1] if found and isinstance(found[-1], str) else ""


def _request_id(context: aio.ServicerContext) -> str:
    given = _metadata(context, "x-request-id")
    return given if ID.match(given) else secrets.token_hex(8)

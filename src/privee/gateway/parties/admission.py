"""Who may call a party: decided by the certificate alone, before anything of a call's message is read."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import NoReturn

import grpc
from grpc import aio

from privee.gateway.logs import log
from privee.gateway.parties.roles import COORDINATOR_NAME

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

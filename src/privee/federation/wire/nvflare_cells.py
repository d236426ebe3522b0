"""Bytes over NVFlare's core cells: the shortest way between the processes of a job.

Its tasks poll, its auxiliary messages stream, and arrays become downloads; raw bytes through a core cell do none of
that. Task filters do not see these messages, so nothing here may rely on one.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

from nvflare.apis.signal import Signal
from nvflare.fuel.f3.cellnet.core_cell import TargetMessage
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message

from privee.federation.errors import SiteLostError, StoppedError

CHANNEL, STEP, READY = "privee", "step", "ready"
POLL, PAUSE, READY_PAUSE, SHORT = 0.2, 0.3, 1.0, 1.0
SWITCH = 0.0005


def be_prompt() -> None:
    """Let the threads of this process take turns sooner: by default one that waits may lose five milliseconds."""
    sys.setswitchinterval(SWITCH)


def session_of(job_id: str) -> bytes:
    """What tells this job's messages from those of others."""
    return hashlib.sha256(b"privee federation\0" + job_id.encode()).digest()[:16]


class CellPost:
    """Carries bytes from the server's job process to those of the sites (see `exchange.Post`)."""

    def __init__(self, core_cell: Any, clients: Mapping[str, str], job_id: str, abort: Signal) -> None:
        self._cell, self._abort = core_cell, abort
        self._names = {site: FQCN.join([place, job_id]) for site, place in clients.items()}
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="privee-post")

    def deliver(self, messages: Mapping[str, bytes], seconds: float) -> dict[str, bytes]:
        """Send each site its message and return the replies that came; NVFlare's own stop is a StoppedError."""
        started = time.monotonic()
        replies = self._send(STEP, messages, seconds)
        if not replies:  # a site that cannot be reached fails at once: give it the time it has
            while time.monotonic() - started < min(seconds, PAUSE):
                time.sleep(POLL / 4)
                self._check()
        return replies

    def wait_ready(self, seconds: float) -> None:
        """Wait until every site's process answers."""
        end = time.monotonic() + seconds
        waiting = dict.fromkeys(self._names, b"")
        while waiting:
            for site in self._send(READY, waiting, 1.0):
                del waiting[site]
            if waiting and time.monotonic() > end:
                raise SiteLostError(next(iter(waiting)), f"was not ready in {seconds:g} s")
            if waiting:
                time.sleep(READY_PAUSE)

    def close(self) -> None:
        """Let go of the threads."""
        self._pool.shutdown(wait=False)

    def _send(self, topic: str, messages: Mapping[str, bytes], seconds: float) -> dict[str, bytes]:
        targets = {self._names[site]: data for site, data in messages.items()}
        parcels = {name: TargetMessage(name, CHANNEL, topic, Message(payload=data)) for name, data in targets.items()}
        found = self._broadcast(parcels, seconds)
        answered = {site: found[self._names[site]] for site in messages if self._names[site] in found}
        return {site: bytes(reply.payload) for site, reply in answered.items() if _is_good(reply)}

    def _broadcast(self, parcels: dict[str, TargetMessage], seconds: float) -> dict[str, Message]:
        """In this thread if it is short, which saves a millisecond; else with an eye on NVFlare's stop signal."""
        if seconds <= SHORT:
            found: dict[str, Message] = self._cell.broadcast_multi_requests(parcels, seconds)
            self._check()
            return found
        future = self._pool.submit(self._cell.broadcast_multi_requests, parcels, seconds)
        while not future.done():
            wait([future], POLL)
            self._check()
        return future.result()

    def _check(self) -> None:
        if self._abort.triggered:
            raise StoppedError("NVFlare stopped the job")


def answer_on(core_cell: Any, job_id: str, answer: Callable[[bytes], bytes]) -> None:
    """Let a site's process answer the coordinator of its job, and nobody else who can reach it."""
    coordinator = (FQCN.join([FQCN.ROOT_SERVER, job_id]), FQCN.ROOT_SERVER)  # the latter in the simulator

    def reply(request: Message, work: Callable[[bytes], bytes]) -> Message:
        if request.get_header(MessageHeaderKey.ORIGIN) not in coordinator:
            return make_reply(ReturnCode.UNAUTHENTICATED)
        return make_reply(ReturnCode.OK, "", work(request.payload))

    core_cell.register_request_cb(CHANNEL, STEP, reply, answer)
    core_cell.register_request_cb(CHANNEL, READY, reply, lambda _: b"ready")


def _is_good(reply: Message) -> bool:
    return bool(reply.get_header(MessageHeaderKey.RETURN_CODE, ReturnCode.OK) == ReturnCode.OK)

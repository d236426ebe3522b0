"""A site's door: bytes in, bytes out, each step once.

Steps of a session come in order, one at a time. The same step again (the coordinator asks twice when a reply was slow)
gets the same reply again and changes nothing; an older one, one that skips ahead, and one of another job are refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from privee.errors import PriveeError
from privee.federation.frames import Content, Failure, Frame, decode, encode
from privee.federation.tensors import Packing

Handle = Callable[[Content], Content]


class Answering:
    """Hands the coordinator's messages to `handle` and remembers the last reply."""

    def __init__(self, handle: Handle, session: bytes, packing: Callable[[], Packing] = lambda: Packing.EXACT) -> None:
        self._handle, self._session, self._packing = handle, session, packing
        self._lock = threading.Lock()
        self._last, self._request, self._reply = 0, b"", b""

    def answer(self, data: bytes | memoryview) -> bytes:
        """The reply to a message, always: errors travel as a Failure."""
        try:
            frame = decode(data)
        except PriveeError as error:
            return self._encoded(0, Failure(str(error)))
        with self._lock:
            if frame.session != self._session:
                return self._encoded(frame.step, Failure("this message belongs to another job"))
            if frame.step == self._last and bytes(data) == self._request:
                return self._reply
            if frame.step != self._last + 1:
                return self._encoded(frame.step, Failure(f"step {frame.step} is out of turn after {self._last}"))
            self._last, self._request = frame.step, bytes(data)
            self._reply = self._work(frame)
            return self._reply

    def _work(self, frame: Frame) -> bytes:
        started = time.perf_counter()
        try:
            reply = self._handle(frame.content)
            return self._encoded(frame.step, reply, started)
        except PriveeError as error:
            return self._encoded(frame.step, Failure(str(error)))
        except Exception as error:  # a bug: its kind may be told, its text could hold data and stays here
            logging.getLogger(__name__).exception("step %d failed", frame.step)
            return self._encoded(frame.step, Failure(f"failed with {type(error).__name__}; see the site's log"))

    def _encoded(self, step: int, content: Content, started: float | None = None) -> bytes:
        busy = 0 if started is None else round(1e6 * (time.perf_counter() - started))
        return encode(Frame(self._session, step, content, busy), self._packing())

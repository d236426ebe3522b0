"""Several processes behind one address, on one ledger: started together, watched, stopped together.

Each is a whole gateway. They share the listening socket, and what must hold for all of them is counted in the ledger.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import select
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable

from privee.errors import PriveeError, SettingError
from privee.logs import log

Work = Callable[[Callable[[], None]], None]
START_SECONDS, STOP_SECONDS = 120.0, 20.0
RESTART_SECONDS = 1.0
"""One that ended by itself is started again no sooner than this after its last start."""
_HEARD = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG = 1


class Workers:
    """Forked processes that do the same work.

    Args:
        count: how many.
        work: what each does until SIGTERM; it calls its argument once it is ready.
        listening: closed here when all are to stop, so that nobody waits at a door that nobody opens.
    """

    def __init__(self, count: int, work: Work, listening: socket.socket) -> None:
        if not hasattr(os, "fork"):
            raise SettingError("more than one worker needs a system that can fork; start several gateways instead")
        self._count, self._work, self._listening = count, work, listening
        self._started: dict[int, float] = {}

    def run(self, ready: Callable[[], None]) -> None:
        """Until SIGTERM or Ctrl-C; `ready` is called once all of them are."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {*_HEARD, signal.SIGCHLD})
        try:
            self._await([self._start(before) for _ in range(self._count)])
            ready()
            heard = self._watch(before)
        finally:
            self._stop()
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if heard == signal.SIGINT:
            raise KeyboardInterrupt

    def _start(self, mask: set[signal.Signals | int]) -> int:
        """Fork one; gives back what can be read from it once it is ready, and is closed with it."""
        parent, (reading, writing) = os.getpid(), os.pipe()
        pid = os.fork()
        if pid:
            os.close(writing)
            self._started[pid] = time.monotonic()
            return reading
        os.close(reading)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _end_with(parent)
        os._exit(_done(self._work, writing))

    def _await(self, pipes: list[int]) -> None:
        """Until all are ready; the first that ends instead has said why."""
        end, waiting = time.monotonic() + START_SECONDS, set(pipes)
        try:
            while waiting:
                found, _, _ = select.select(waiting, [], [], max(0.0, end - time.monotonic()))
                if not found or not all(os.read(pipe, 1) for pipe in found):
                    raise PriveeError("a worker did not start; what it said is above")
                waiting.difference_update(found)
        finally:
            for pipe in pipes:
                os.close(pipe)

    def _watch(self, mask: set[signal.Signals | int]) -> int:
        """Start again what ends, until told to stop."""
        while True:
            heard = signal.sigtimedwait({*_HEARD, signal.SIGCHLD}, RESTART_SECONDS)
            if heard is not None and heard.si_signo in _HEARD:
                return heard.si_signo
            self._reap()
            new = not self._started or time.monotonic() - max(self._started.values()) >= RESTART_SECONDS
            if new and len(self._started) < self._count:
                os.close(self._start(mask))

    def _reap(self, *, tell: bool = True) -> None:
        for pid in list(self._started):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                del self._started[pid]
                if tell:
                    log("worker ended", level=logging.ERROR, code=os.waitstatus_to_exitcode(status))

    def _stop(self) -> None:
        """Ask all to finish what is under way, and end those that do not."""
        self._listening.close()
        for pid in self._started:
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + STOP_SECONDS
        while self._started and time.monotonic() < end:
            time.sleep(0.02)
            self._reap(tell=False)
        for pid in self._started:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _done(work: Work, writing: int) -> int:
    """The worker's exit code; whatever goes wrong, it does not go on as if it were its parent."""
    try:
        work(lambda: _tell(writing))
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:
        return 0
    except PriveeError as error:
        print(f"privee: {error}", file=sys.stderr, flush=True)
        return 1
    except BaseException:
        traceback.print_exc(limit=6)
        return 1
    return 0


def _tell(writing: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # one that was started again: nobody waits to hear of it
        os.write(writing, b".")


def _end_with(parent: int) -> None:
    """Be told to stop if the parent is gone without a word."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            with contextlib.suppress(OSError):
                os.kill(os.getpid(), signal.SIGTERM)

"""NVFlare's side of a site: an executor without tasks, through which the party answers, bytes in and bytes out.

Steps of a session come in order, one at a time. The same step again (the coordinator asks twice when a reply was slow)
gets the same reply again and changes nothing; an older one, one that skips ahead, and one of another job are refused.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace

from privee.errors import PriveeError
from privee.federation.settings import SiteSettings
from privee.federation.site.site import Site
from privee.federation.wire.frames import Content, Frame, SiteFailure, decode, encode
from privee.federation.wire.guard import refuse_strangers
from privee.federation.wire.nvflare_cells import answer_on, be_prompt, session_of
from privee.federation.wire.tensors import Packing


class PartyExecutor(Executor):  # type: ignore[misc]  # NVFlare has no types
    """Opens the site's door when a job starts."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """At the start of a job."""
        if event_type == EventType.START_RUN:
            be_prompt()
            name = fl_ctx.get_identity_name()
            workspace: Workspace = fl_ctx.get_prop(FLContextKey.WORKSPACE_OBJECT)
            kit, local = Path(workspace.get_root_dir()), Path(workspace.get_site_config_dir())
            door = door_of(name, local, kit / "privee", session_of(fl_ctx.get_job_id()))
            core_cell = fl_ctx.get_engine().get_cell().core_cell
            refuse_strangers(core_cell)
            answer_on(core_cell, fl_ctx.get_job_id(), door.answer)

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        """There are no tasks."""
        return make_reply(ReturnCode.TASK_UNKNOWN)


def door_of(name: str, local: Path, folder: Path, session: bytes) -> NumberedReplies:
    """The site's door. One that cannot read its own settings says so; silence would end as "not ready" in a while."""
    try:
        site = Site(name, SiteSettings.read(local, name, folder))
    except PriveeError:
        logging.getLogger(__name__).exception("%s cannot take part", name)
        return NumberedReplies(_refuse, session)
    return NumberedReplies(site.handle, session, site.packing)


def _refuse(_: Content) -> Content:
    raise PriveeError("its own settings, local/privee-SITE.json in its kit, cannot be read; see the site's log")


Handle = Callable[[Content], Content]


class NumberedReplies:
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
            return self._encoded(0, SiteFailure(str(error)))
        with self._lock:
            if frame.session != self._session:
                return self._encoded(frame.step, SiteFailure("this message belongs to another job"))
            if frame.step == self._last and bytes(data) == self._request:
                return self._reply
            if frame.step != self._last + 1:
                return self._encoded(frame.step, SiteFailure(f"step {frame.step} is out of turn after {self._last}"))
            self._last, self._request = frame.step, bytes(data)
            self._reply = self._work(frame)
            return self._reply

    def _work(self, frame: Frame) -> bytes:
        started = time.perf_counter()
        try:
            reply = self._handle(frame.content)
            return self._encoded(frame.step, reply, started)
        except PriveeError as error:
            return self._encoded(frame.step, SiteFailure(str(error)))
        except Exception as error:  # a bug: its kind may be told, its text could hold data and stays here
            logging.getLogger(__name__).exception("step %d failed", frame.step)
            return self._encoded(frame.step, SiteFailure(f"failed with {type(error).__name__}; see the site's log"))

    def _encoded(self, step: int, content: Content, started: float | None = None) -> bytes:
        busy = 0 if started is None else round(1e6 * (time.perf_counter() - started))
        return encode(Frame(self._session, step, content, busy), self._packing())

"""NVFlare's side of a site: an executor without tasks that lets the party answer the coordinator."""

from __future__ import annotations

import logging
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import FLContextKey, ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import Shareable, make_reply
from nvflare.apis.signal import Signal
from nvflare.apis.workspace import Workspace

from privee.errors import PriveeError
from privee.federation.answering import Answering
from privee.federation.cells import answer_on, be_prompt, session_of
from privee.federation.frames import Content
from privee.federation.guard import refuse_strangers
from privee.federation.settings import SiteSettings
from privee.federation.site import Site


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


def door_of(name: str, local: Path, folder: Path, session: bytes) -> Answering:
    """The site's door. One that cannot read its own settings says so; silence would end as "not ready" in a while."""
    try:
        site = Site(name, SiteSettings.read(local, name, folder))
    except PriveeError:
        logging.getLogger(__name__).exception("%s cannot take part", name)
        return Answering(_refuse, session)
    return Answering(site.handle, session, site.packing)


def _refuse(_: Content) -> Content:
    raise PriveeError("its own settings, local/privee-SITE.json in its kit, cannot be read; see the site's log")

"""What a site lets in. NVFlare's own process at a site asks too little.

It checks rights only for messages that say so themselves, and takes them from everybody: the server, and any other site
by way of the server, could read what the site's process can read (its private key, its table) and delete its folders.
The kits of `privee federation init` name this guard in `local/resources.json`.
"""

from __future__ import annotations

import io
import logging
import re
import zipfile
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_context import FLContext
from nvflare.apis.job_def import JobMetaKey
from nvflare.fuel.f3.cellnet.defs import MessageHeaderKey, MessageType, ReturnCode
from nvflare.fuel.f3.cellnet.fqcn import FQCN
from nvflare.fuel.f3.cellnet.utils import make_reply
from nvflare.fuel.f3.message import Message as CellMessage
from nvflare.lighter.tool_consts import NVFLARE_SIG_FILE, NVFLARE_SUBMITTER_CRT_FILE
from nvflare.private.admin_defs import Message, error_reply
from nvflare.private.defs import RequestHeader, TrainingTopic
from nvflare.private.fed.client.admin import RequestProcessor
from nvflare.private.fed.client.client_req_processors import ClientRequestProcessors

TOPICS = frozenset(
    {
        TrainingTopic.CHECK_STATUS,
        TrainingTopic.CHECK_RESOURCE,
        TrainingTopic.CANCEL_RESOURCE,
        TrainingTopic.DEPLOY,
        TrainingTopic.START_JOB,
        TrainingTopic.NOTIFY_JOB_STATUS,
        TrainingTopic.ABORT,
        TrainingTopic.DELETE_RUN,
        TrainingTopic.SHUTDOWN,
    }
)
"""What the server asks of a site to run jobs and to stop; no commands, no logs, no restarts, no news of the machine."""
NET_CHANNEL, NET_TOPICS = "_net_manager", frozenset({"heartbeat"})
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SIGNATURES = frozenset({NVFLARE_SIG_FILE, NVFLARE_SUBMITTER_CRT_FILE})
_log = logging.getLogger(__name__)


class SiteGuard(FLComponent):  # type: ignore[misc]  # NVFlare has no types
    """Narrows what the site's process answers, before it is connected to anything that could be asked."""

    def handle_event(self, event_type: str, fl_ctx: FLContext) -> None:
        """When the process starts; the processors are taken up after that."""
        if event_type == EventType.SYSTEM_BOOTSTRAP:
            known = ClientRequestProcessors.request_processors
            known[:] = [Checked(one) for one in known if TOPICS & set(one.get_topics())]
            refuse_strangers(fl_ctx.get_engine().get_cell().core_cell)


class Checked(RequestProcessor):  # type: ignore[misc]
    """One of NVFlare's processors, for the topics that are needed and for proper jobs only."""

    def __init__(self, inner: RequestProcessor) -> None:
        self._inner = inner

    def get_topics(self) -> list[str]:
        """Those that are needed."""
        return [topic for topic in self._inner.get_topics() if topic in TOPICS]

    def process(self, req: Message, app_ctx: Any) -> Message:
        """Hand it on, or say what is wrong."""
        wrong = wrong_job(req.get_header(RequestHeader.JOB_ID), req.get_header(RequestHeader.JOB_META))
        if wrong is None and req.topic == TrainingTopic.DEPLOY:
            wrong = wrong_app(req.body)
        if wrong is None:
            return self._inner.process(req, app_ctx)
        _log.warning("refused %s: %s", req.topic, wrong)
        return error_reply(wrong)


def wrong_job(job_id: Any, meta: Any) -> str | None:
    """A job's id names its folder in the kit, so it must not be `local` or `startup`."""
    if job_id is not None and not (isinstance(job_id, str) and JOB_ID.fullmatch(job_id)):
        return "this is not the id of a job"
    if isinstance(meta, dict) and meta.get(JobMetaKey.JOB_ID, job_id) != job_id:
        return "the job goes by two ids"
    return None


def wrong_app(data: Any) -> str | None:
    """An app is configuration in JSON: code is the site's own, and other formats can include files and variables."""
    try:
        names = [PurePosixPath(name) for name in zipfile.ZipFile(io.BytesIO(data)).namelist() if name[-1:] != "/"]
    except (zipfile.BadZipFile, TypeError, ValueError):
        return "this is not an app"
    for name in names:
        if name.name not in SIGNATURES and not (name.parent == PurePosixPath("config") and name.suffix == ".json"):
            return "a job may bring JSON files in config/ and nothing else"
    return None


def refuse_strangers(core_cell: Any) -> None:
    """Requests come from the server, or from this site's own processes; what others send is dropped."""
    own = FQCN.split(core_cell.get_fqcn())[0]

    def stranger(message: CellMessage) -> bool:
        origin = FQCN.split(message.get_header(MessageHeaderKey.ORIGIN))[0]
        manages = message.get_header(MessageHeaderKey.CHANNEL) == NET_CHANNEL
        return origin not in (FQCN.ROOT_SERVER, own) or (
            manages and message.get_header(MessageHeaderKey.TOPIC) not in NET_TOPICS
        )

    _drop(core_cell, stranger)


def refuse_transit(core_cell: Any) -> None:
    """The coordinator's process passes nothing on, so that no site reaches another through it under a false name.

    In the simulator it is the server itself, which has to.
    """
    own = core_cell.get_fqcn()
    if own != FQCN.ROOT_SERVER:
        _drop(core_cell, lambda message: message.get_header(MessageHeaderKey.DESTINATION) != own)


def _drop(core_cell: Any, unwanted: Callable[[CellMessage], bool]) -> None:
    def check(message: CellMessage) -> CellMessage | None:
        if message.get_header(MessageHeaderKey.MSG_TYPE) != MessageType.REQ or not unwanted(message):
            return None
        _log.warning("dropped a message from %.60s", message.get_header(MessageHeaderKey.ORIGIN))
        return make_reply(ReturnCode.UNAUTHENTICATED)

    core_cell.add_incoming_filter(channel="*", topic="*", cb=check)

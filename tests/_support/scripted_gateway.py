"""A server that misbehaves in known ways, and both kinds of client to use with it: for tests of the client."""

import asyncio
import json
import socket
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from privee.client import AsyncClient, Client

KEY = "privee_0a1b2c3d_" + "S" * 43
KINDS = pytest.mark.parametrize("kind", ["sync", "async"])


def use(kind, url, work, **options):
    """`work` with a client of this kind: it calls one method."""
    settings = {"key": KEY, "model": "risk"} | options
    if kind == "sync":
        with Client(url, **settings) as client:
            return work(client)

    async def main():
        async with AsyncClient(url, **settings) as client:
            return await work(client)

    return asyncio.run(main())


class Scripted:
    """A real HTTP server that does what its script says, one entry per request; the last one again and again."""

    def __init__(self, *script, listen=True):
        self.script, self.requests = list(script), []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                outer.requests.append((self.command, self.path, dict(self.headers), body))
                step = outer.script.pop(0) if len(outer.script) > 1 else outer.script[0]
                step(self)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *args):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.server_bind()
        if listen:
            self.server.server_activate()
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def answer(status, body, **headers):
    def step(handler):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"content-length": len(data), **headers}.items():
            handler.send_header(name.replace("_", "-"), str(value))
        handler.end_headers()
        handler.wfile.write(data)

    return step


def problem(status, code, words="something failed", more=None, **headers):
    return answer(status, {"error": words, "code": code} | (more or {}), **headers)


def released(values=((0.75, 0.25),), **said):
    values = np.atleast_2d(np.asarray(values, dtype=np.float64))
    tensor = {"name": "release", "shape": list(values.shape), "datatype": "FP64", "data": values.ravel().tolist()}
    parameters = {"defense": "none", "release_id": "ab" * 16, "remaining": 7, "charged": len(values)} | said
    body = {"model_name": "risk", "model_version": "v1", "parameters": parameters, "outputs": [tensor]}
    return answer(200, body)


def dropped(handler):
    """The request was read, and the connection ends without a word."""
    handler.close_connection = True
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def cut(handler):
    """Half an answer."""
    handler.send_response(200)
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"model_name": "risk"')
    handler.close_connection = True


def hung(handler):
    time.sleep(0.6)
    handler.close_connection = True


def ask(client):
    return client.infer("17")

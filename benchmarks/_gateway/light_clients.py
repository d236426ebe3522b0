"""Clients that cost little themselves: requests are made before, all connections are read in one thread."""

from __future__ import annotations

import json
import selectors
import socket
import time
from urllib.parse import urlsplit

from privee.gateway.demo import MODEL

ENTITIES = 1797
SECONDS = 60.0


class Crowd:
    """Some connections to one gateway; each asks again as soon as it is answered.

    Args:
        url: of the gateway.
        key: an API key.
        clients: how many connections.
        batch: entities in a request.
    """

    def __init__(self, url: str, key: str, clients: int, batch: int) -> None:
        parts = urlsplit(url)
        self._requests = [_request(parts.netloc, key, start, batch) for start in _starts(batch)]
        self._next = 0
        place = (parts.hostname or "", parts.port or 80)
        self._sockets = [socket.create_connection(place, timeout=SECONDS) for _ in range(clients)]
        for one in self._sockets:
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, seconds: float, least: int = 1) -> tuple[int, float]:
        """Ask for so long and so often at least; how many were answered, and how long that took."""
        done, began = 0, time.perf_counter()
        with selectors.DefaultSelector() as ready:
            for one in self._sockets:
                ready.register(one, selectors.EVENT_READ, bytearray())
                self._send(one)
            under_way = len(self._sockets)
            while under_way:
                found = ready.select(SECONDS)
                if not found:
                    raise TimeoutError("a gateway does not answer")
                for key, _ in found:
                    read: bytearray = key.data
                    read += key.fileobj.recv(1 << 20)  # type: ignore[union-attr]
                    if not _whole(read):
                        continue
                    read.clear()
                    done += 1
                    if time.perf_counter() - began < seconds or done + under_way <= least:
                        self._send(key.fileobj)  # type: ignore[arg-type]
                    else:
                        under_way -= 1
        return done, time.perf_counter() - began

    def close(self) -> None:
        for one in self._sockets:
            one.close()

    def _send(self, one: socket.socket) -> None:
        one.sendall(self._requests[self._next % len(self._requests)])
        self._next += 1


def _starts(batch: int) -> range:
    return range(0, ENTITIES, max(1, min(batch, 256)))


def _request(host: str, key: str, start: int, batch: int) -> bytes:
    data = [str((start + k) % ENTITIES) for k in range(batch)]
    tensor = {"name": "entities", "shape": [batch], "datatype": "BYTES", "data": data}
    body = json.dumps({"inputs": [tensor]}).encode()
    head = (
        f"POST /v2/models/{MODEL}/infer HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _whole(read: bytearray) -> bool:
    """Whether a response is here to its end; anything but a good one ends the measurement."""
    end = read.find(b"\r\n\r\n")
    if end < 0:
        return False
    if not read.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"a gateway said: {bytes(read[:400]).decode(errors='replace')}")
    head = bytes(read[:end]).lower()
    return len(read) >= end + 4 + int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0])

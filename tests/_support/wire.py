"""Bytes to a server and back, for requests that no HTTP client would send."""

import contextlib
import socket
import time
from typing import NamedTuple
from urllib.parse import urlsplit


class Reply(NamedTuple):
    """What came back; status None: the connection was closed without an answer."""

    status: int | None
    head: str
    body: str
    seconds: float


def read_reply(connection: socket.socket, start: float) -> Reply:
    """The first response, without those that only say to go on."""
    received = b""
    with contextlib.suppress(ConnectionError):
        while True:
            head, end, rest = received.partition(b"\r\n\r\n")
            if end and head.startswith(b"HTTP/1.1 100"):
                received = rest
                continue
            length = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
            if end and length and len(rest) >= int(length[0]):
                break
            more = connection.recv(65536)
            if not more:
                break
            received += more
    head, _, rest = received.partition(b"\r\n\r\n")
    status = int(head.split(b" ")[1]) if head else None
    return Reply(status, head.decode("latin-1"), rest.decode(), time.monotonic() - start)


@contextlib.contextmanager
def connected(url: str, timeout: float = 20):
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout) as connection:
        yield connection


def send(url: str, *pieces: bytes, timeout: float = 20) -> Reply:
    """Bytes as they are; the server may answer and close before it has read them all."""
    start = time.monotonic()
    with connected(url, timeout) as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        return read_reply(connection, start)


def head(path: str, *lines: str, method: str = "POST", key: str = "", version: str = "1.1") -> bytes:
    given = [f"{method} {path} HTTP/{version}", "Host: gateway", *lines]
    given += [f"Authorization: Bearer {key}"] if key else []
    return ("\r\n".join(given) + "\r\n\r\n").encode("latin-1")

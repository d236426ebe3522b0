"""Senders that never finish."""

import contextlib
import threading
import time

from privee.gateway.http.connection import HEAD_SECONDS
from tests._support.hostile_requests import INFER
from tests._support.wire import Reply, connected, head, read_reply, send


def slow_head(url: str) -> Reply:
    """Never finishes its headers, and keeps sending some."""
    start = time.monotonic()
    with connected(url, 40) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(b"GET /v2 HTTP/1.1\r\n")
            while time.monotonic() - start < 2 * HEAD_SECONDS:
                connection.sendall(b"x: y\r\n")
                time.sleep(0.5)
        return read_reply(connection, start)


def silent(url: str) -> Reply:
    return send(url, timeout=60)


def slow_body(url: str, key: str) -> Reply:
    """A byte now and then, without end."""
    start = time.monotonic()
    with connected(url, 60) as connection:
        connection.sendall(head(INFER, "Transfer-Encoding: chunked", key=key))
        ended = threading.Event()

        def drip():
            with contextlib.suppress(OSError):
                while not ended.wait(0.5):
                    connection.sendall(b"1\r\n \r\n")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            return read_reply(connection, start)
        finally:
            ended.set()
            thread.join()

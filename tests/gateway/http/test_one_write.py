"""A response's head and body leave together, and a head whose body takes its time leaves all the same."""

import asyncio

import uvicorn
from uvicorn.server import ServerState

from privee.gateway.http.connection import GuardedProtocol
from privee.gateway.http.one_write import OneWrite


class Transport(asyncio.Transport):
    """Keeps what was written, and how."""

    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, data):
        self.written.append(data)

    def writelines(self, parts):
        self.written.append(b"".join(parts))

    def close(self):
        self.written.append("closed")

    def is_closing(self):
        return "closed" in self.written


def test_head_and_body_are_one_write_and_nothing_is_held_after():
    async def work():
        transport = Transport()
        response = OneWrite(transport, asyncio.get_running_loop())
        response.write(b"head ")
        assert transport.written == []
        response.write(b"body")
        response.write(b" more")
        assert transport.written == [b"head body", b" more"]
        await asyncio.sleep(0)
        assert transport.written == [b"head body", b" more"]
        assert not response.is_closing()

    asyncio.run(work())


def test_a_head_without_a_body_waits_for_one_turn_alone():
    async def work():
        transport = Transport()
        response = OneWrite(transport, asyncio.get_running_loop())
        response.write(b"head ")
        await asyncio.sleep(0)
        assert transport.written == [b"head "]
        response.write(b"body")
        assert transport.written == [b"head ", b"body"]

    asyncio.run(work())


def test_closing_lets_the_head_go_first():
    async def work():
        transport = Transport()
        response = OneWrite(transport, asyncio.get_running_loop())
        response.write(b"head")
        response.close()
        await asyncio.sleep(0)
        assert transport.written == [b"head", "closed"]

    asyncio.run(work())


async def hello(scope, receive, send):
    headers = [(b"content-length", b"5")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"hello"})


def test_every_response_of_a_connection_is_one_write():
    async def work():
        transport, config = Transport(), uvicorn.Config(hello, log_config=None, lifespan="off")
        config.load()
        connection = GuardedProtocol(config, ServerState(), {})
        connection.connection_made(transport)
        for count in (1, 2):
            connection.data_received(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            for _ in range(5):
                await asyncio.sleep(0)
            assert len(transport.written) == count
            assert transport.written[-1].startswith(b"HTTP/1.1 200")
            assert transport.written[-1].endswith(b"\r\n\r\nhello")
        connection.connection_lost(None)

    asyncio.run(work())

"""The service: a gateway and two parties as processes, one release over HTTP, the dashboard's first page."""

from pathlib import Path

import httpx

import privee
from privee.gateway.demo import make_world, running

world = make_world(Path.cwd(), epochs=1)
with running(world) as (gateway, _):
    with privee.Client(gateway.ready["url"], world.api_key("consumer")) as client:
        assert client.infer(["17", "42"]).shape == (2, 10)
    assert "privee" in httpx.get(gateway.ready["url"] + "/ui/login").text

"""What party processes said, and how they end."""

import json
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from privee.party.wire import ABOUT
from tests._support.party_world import call, person, using


def test_logs_are_json_without_ids_and_a_stop_is_graceful(world):
    keys = ("bank/csv", "mlp/active")
    for addresses, entity in ((world.shops(), person(1)), (world.digits(), "1")):
        using(world.channel(addresses), lambda channel, entity=entity: channel.embeddings([entity]))
    with pytest.raises(grpc.RpcError):
        call(world.running["bank/csv"].address, ABOUT, b"", world.tls("bank"), world.tls("old-shop"), "bank")
    with ThreadPoolExecutor() as pool:
        assert list(pool.map(lambda key: world.running[key].stop(), keys)) == [0, 0]
    for key in keys:
        first, *lines = world.log(key).read_text().splitlines()
        assert first.startswith("privee: party ")
        assert world.running[key].address in first
        events = [json.loads(line) for line in lines]
        assert [events[0]["event"], events[-1]["event"]] == ["ready", "stopped"]
        assert {"count", "seconds", "peer"} <= set(next(e for e in events if e["event"] == "embedded"))
        assert "kunde-" not in world.log(key).read_text()
    assert any(event["peer"] == "other" for event in world.events("bank/csv", "refused"))

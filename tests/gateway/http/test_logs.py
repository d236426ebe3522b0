"""What is left in logs and in the ledger of requests whose ids are marked: last in this folder."""

import json

import httpx
import pytest

from privee.gateway.demo import PARTIES
from privee.vfl.experiment import open_run
from tests._support.hostile_requests import INFER, tensors
from tests._support.marked_world import MARK, person

SECRET_VALUE = 0.7314159265
ROLES = ("consumer", "auditor", "administrator")


pytestmark = pytest.mark.usefixtures("still_serves")


@pytest.fixture(scope="module")
def world(marked):
    return marked


def test_nothing_private_is_in_any_log_or_in_the_ledger(world, release_values):
    """No id, no score, no released number, no column, no API key."""
    headers = {"Authorization": f"Bearer {world.key('consumer')}"}
    sent = {"inputs": tensors([person(2)], [SECRET_VALUE, 0.25])["inputs"], "id": f"{MARK}-request"}
    assert httpx.post(f"{world.url}{INFER}", json=sent, headers=headers).status_code == 200
    federation, _ = open_run(world.world.run, {name: world.world.folder / f"{name}.csv" for name in PARTIES})
    scores = federation.scores().ravel().tolist()
    private = [MARK, str(SECRET_VALUE), *(world.key(role).split("_", 2)[2] for role in ROLES)]
    private += [f"{value:.10f}"[:9] for value in (*release_values, *scores) if 0.01 < abs(value) < 0.99]
    assert len(private) > 50
    files = [*world.world.folder.glob("*.log"), *world.world.folder.glob("ledger.db*")]
    assert len(files) >= 5
    for file in files:
        held = file.read_bytes()
        assert len(held) > 100, file
        assert not [word for word in private if word.encode() in held], file.name
    with world.client("auditor") as client:
        shown = client.get("/metrics").text
    assert "privee_releases_total" in shown
    assert not [word for word in private if word in shown]


def test_every_line_of_the_logs_is_json_but_the_greeting(world):
    for file in world.world.folder.glob("*.log"):
        greeting, *lines = file.read_text().splitlines()
        assert greeting.startswith("privee"), file.name
        entries = [json.loads(line) for line in lines]
        assert all({"time", "level", "event"} <= set(entry) for entry in entries)
        assert not [entry for entry in entries if entry.get("status", 0) >= 500 or "exception" in entry]

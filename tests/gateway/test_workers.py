"""Several workers behind one address: exact counts, a worker that is killed, one dashboard, one set of metrics."""

import contextlib
import json
import os
import signal
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
import psutil
import pytest
from benchmarks._shared.gateway_load import SECONDS, Crowd, counted, received

from privee.errors import PriveeError, SettingError
from privee.gateway.http.access import Access
from privee.gateway.http.problems import DeniedError
from privee.gateway.http.workers import Workers
from privee.gateway.ledger.ledger import Ledger
from tests._support.gateway_world import DEFENSE, gateway_world, infer
from tests._support.local_gateway import visitor
from tests._support.rpc_requests import release_id

LIMIT, WORKERS = 50, 3
OPTIONS = (*DEFENSE, "--releases", str(LIMIT), "--deadline", "30", "--workers", str(WORKERS), "--grpc-port", "0")


@pytest.fixture(scope="module")
def world(tmp_path_factory, postgres):
    """One gateway on SQLite and one on PostgreSQL, of three workers each, asking the same parties."""
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(gateway_world(tmp_path_factory.mktemp("workers"), *OPTIONS))
        shared = postgres.new_database()
        Ledger.create(shared, found.ledger_key.read_bytes())
        other = found.world.gateway(found.addresses, OPTIONS, name="other", url=shared)
        stack.callback(other.stop)
        found.places = {
            "sqlite": (found.ledger_url, found.url, found.key("consumer")),
            "postgresql": (shared, other.wait_ready().ready["url"], found.world.api_key("consumer", url=shared)),
        }
        yield found


def workers_of(gateway) -> list[psutil.Process]:
    return psutil.Process(gateway.pid).children()


@pytest.mark.parametrize(("database", "entity"), [("sqlite", "900"), ("postgresql", "900")])
def test_many_clients_of_several_workers_get_exactly_an_entitys_limit(world, database, entity):
    ledger, url, key = world.places[database]
    with Crowd([url], key, lambda _: [entity], clients=24, most=4) as crowd:
        crowd.join()
    assert Counter(one.status for one in crowd.seen) == {200: LIMIT, 429: 96 - LIMIT}
    released = [one.answer["parameters"] for one in crowd.seen if one.status == 200]
    assert len({one["release_id"] for one in released}) == LIMIT
    assert counted(ledger, world.ledger_key.read_bytes(), [entity]) == {entity: LIMIT}


def test_workers_share_the_port_of_grpc_and_the_ledger_with_http(world):
    """Twelve connections of each kind, which several workers take: one entity gives its limit, and no more, to all."""
    _, url, key = world.places["sqlite"]
    address = world.gateway.ready["grpc"]
    with ThreadPoolExecutor(12) as pool, Crowd([url], key, lambda _: ["905"], clients=12, most=4) as crowd:
        told = list(pool.map(lambda _: release_id(address, key, "905"), range(48)))
        crowd.join()
    released = [one for one in told if one != "RESOURCE_EXHAUSTED"]
    released += [one.answer["parameters"]["release_id"] for one in crowd.seen if one.status == 200]
    assert {one.status for one in crowd.seen} <= {200, 429}
    assert len(set(released)) == len(released) == LIMIT
    assert counted(world.ledger_url, world.ledger_key.read_bytes(), ["905"]) == {"905": LIMIT}
    lines = [json.loads(line) for line in world.log.splitlines() if '"route": "ModelInfer"' in line]
    assert Counter(line["code"] for line in lines) == Counter(
        one if one == "RESOURCE_EXHAUSTED" else "OK" for one in told
    )
    port = int(address.rpartition(":")[2])
    listening = [
        one.pid
        for one in workers_of(world.gateway)
        if any(found.laddr.port == port for found in one.net_connections("tcp") if found.status == "LISTEN")
    ]
    assert len(listening) == WORKERS


def test_a_killed_worker_is_started_again_and_nothing_that_left_is_uncounted(world):
    ledger, url, key = world.places["sqlite"]
    entities = [str(number) for number in range(910, 940)]
    first = workers_of(world.gateway)
    assert len(first) == WORKERS
    with Crowd([url], key, lambda draw: [draw.choice(entities)], clients=12) as crowd:
        crowd.wait_for(40)
        first[0].kill()
        crowd.wait_for(len(crowd.seen) + 60)
    broken = [one for one in crowd.seen if one.status is None]
    assert {one.status for one in crowd.seen} <= {200, 429, None}
    have, held = received(crowd.seen), counted(ledger, world.ledger_key.read_bytes(), entities)
    at_most = have + Counter(entity for one in broken for entity in one.entities)
    assert all(have[entity] <= held[entity] <= at_most[entity] for entity in entities)
    end = time.monotonic() + SECONDS
    while len(workers_of(world.gateway)) < WORKERS and time.monotonic() < end:
        time.sleep(0.05)
    now = {one.pid for one in workers_of(world.gateway)}
    assert len(now) == WORKERS
    assert first[0].pid not in now
    while world.log.count('"event": "started"') < WORKERS + 1 and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    assert {one.pid for one in workers_of(world.gateway)} == now  # it stays
    assert world.log.count("worker ended") == 1


def test_whoever_signs_in_at_one_worker_is_known_to_all_and_signs_out_at_all(world):
    with visitor(world.url, world.key("auditor")) as client:
        token = client.cookies["privee_session"]
        cookie = {"cookie": f"privee_session={token}"}
        seen = [httpx.get(f"{world.url}/ui", headers=cookie).status_code for _ in range(12)]  # a connection each
        assert seen == [200] * 12
        assert client.post("/ui/logout").status_code == 303
        assert {httpx.get(f"{world.url}/ui", headers=cookie).status_code for _ in range(12)} == {303}


def test_metrics_are_those_of_all_workers(world):
    def answered() -> float:
        time.sleep(1.5)  # written once a second
        with world.client("auditor") as client:
            lines = client.get("/metrics").text.splitlines()
        (value,) = [line.split()[-1] for line in lines if line.startswith("privee_releases_total")]
        seconds = sum(line.startswith("privee_request_entities_count") for line in lines)
        assert seconds == 1
        return float(value)

    before = answered()
    for number in range(12):
        with world.client() as client:  # a connection each
            assert infer(client, str(950 + number)).status_code == 200
    assert answered() - before == 12


def test_stopping_ends_all_workers_after_what_is_under_way(world, tmp_path):
    gateway = world.world.gateway(world.addresses, OPTIONS, name="stopped")
    url = gateway.wait_ready().ready["url"]
    workers, key = workers_of(gateway), world.key("consumer")
    with Crowd([url], key, lambda draw: [str(draw.randrange(1000, 1700))], clients=6) as crowd:
        crowd.wait_for(20)
        assert gateway.stop() == 0
    sent = [one for one in crowd.seen if one.status is None and one.sent is not None]
    assert {one.error for one in sent} <= {"RemoteDisconnected", "ConnectionResetError", "ConnectionRefusedError"}
    assert {one.status for one in crowd.seen} <= {200, 429, None}
    assert psutil.wait_procs(workers, timeout=5)[1] == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/v2/health/live")


def test_a_gateway_that_is_killed_takes_its_workers_with_it(world):
    gateway = world.world.gateway(world.addresses, OPTIONS, name="killed").wait_ready()
    workers = workers_of(gateway)
    os.kill(gateway.pid, signal.SIGKILL)
    assert psutil.wait_procs(workers, timeout=20)[1] == []
    gateway.stop()


# Without a server


def test_a_worker_that_cannot_start_ends_the_others_with_one_line(capfd, tmp_path):
    pids, parent = tmp_path / "pids", os.getpid()

    def work(told):
        with pids.open("a") as file:
            file.write(f"{os.getpid()}\n")
        told()
        signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        if pids.read_text().startswith(f"{os.getpid()}\n"):
            time.sleep(0.2)
            raise PriveeError("the ledger is gone")
        signal.pause()

    def failing(told):
        work(lambda: None)

    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(PriveeError, match="did not start"):
        Workers(2, failing, listening).run(lambda: None)
    assert os.getpid() == parent
    assert capfd.readouterr().err.count("privee: the ledger is gone") == 1
    assert not any(map(psutil.pid_exists, map(int, pids.read_text().split())))


def test_each_worker_allows_its_share_of_ids_that_nobody_knows():
    access = Access(None, None, unknown="10/day", workers=4)
    record = type("Record", (), {"id": "0a1b2c3d"})
    access.count_unknown(record, 2)
    with pytest.raises(DeniedError):
        access.count_unknown(record, 1)


@pytest.mark.parametrize("workers", [0, 65, -1])
def test_a_strange_number_of_workers_is_refused(world, workers):
    from privee.defenses import defense
    from privee.gateway.settings import GatewaySettings

    with pytest.raises(SettingError, match="1 to 64 workers"):
        GatewaySettings(
            run=world.world.run,
            parties={},
            defense=defense("none"),
            ledger_url="",
            ledger_key=world.ledger_key,
            workers=workers,
        )

"""Many clients at once: an entity gives exactly what it may, whatever the database and however many gateways."""

import contextlib
import itertools
import time
from collections import Counter
from typing import NamedTuple

import httpx
import pytest
from benchmarks._shared.gateway_load import SECONDS, Crowd, counted, received, variants_answered, variants_counted

from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits
from tests._support.gateway_world import DEFENSE, gateway_world

LIMIT, VARIANTS = 50, 3
OPTIONS = (*DEFENSE, "--releases", str(LIMIT), "--variants", str(VARIANTS), "--deadline", "20")


class Place(NamedTuple):
    """A database, the gateways that count in it, and a consumer's key."""

    ledger_url: str
    urls: tuple[str, ...]
    api_key: str


@pytest.fixture(scope="module")
def world(tmp_path_factory, postgres):
    """One gateway on SQLite, two on one PostgreSQL, all asking the same parties."""
    with contextlib.ExitStack() as stack:
        found = stack.enter_context(gateway_world(tmp_path_factory.mktemp("load"), *OPTIONS))
        shared = postgres.new_database()
        Ledger.create(shared, found.ledger_key.read_bytes())
        pair = [found.world.gateway(found.addresses, OPTIONS, name=name, url=shared) for name in ("first", "second")]
        for gateway in pair:
            stack.callback(gateway.stop)
        urls = tuple(gateway.wait_ready().ready["url"] for gateway in pair)
        key = found.world.api_key("consumer", url=shared)
        found.places = {
            "SQLite": Place(found.ledger_url, (found.url,), found.key("consumer")),
            "PostgreSQL": Place(shared, urls[:1], key),
            "two gateways on one PostgreSQL": Place(shared, urls, key),
        }
        yield found


@pytest.fixture(params=["SQLite", "PostgreSQL", "two gateways on one PostgreSQL"])
def place(world, request):
    return world.places[request.param]


@pytest.fixture(scope="module")
def fresh():
    """Entities that no test has asked about."""
    numbers = itertools.count(100)
    return lambda count: [str(next(numbers)) for _ in range(count)]


def totals(world, place):
    with Ledger.open(place.ledger_url, world.ledger_key.read_bytes(), limits=Limits()) as ledger:
        return ledger.totals()


def test_eight_clients_on_one_entity_get_exactly_its_limit(world, place, fresh):
    (entity,) = fresh(1)
    before = totals(world, place)
    with Crowd(place.urls, place.api_key, lambda _: [entity], clients=8, most=12) as crowd:
        crowd.join()
    assert len(crowd.seen) == 8 * 12
    statuses = Counter(one.status for one in crowd.seen)
    assert statuses == {200: LIMIT, 429: 8 * 12 - LIMIT}
    released = [one.answer["parameters"] for one in crowd.seen if one.status == 200]
    assert len({one["release_id"] for one in released}) == LIMIT
    assert all(one["charged"] == 1 for one in released)
    assert min(one["remaining"] for one in released) == 0
    for refused in (one.answer["refused"] for one in crowd.seen if one.status == 429):
        assert refused["spent"] == refused["limit"] == {"releases": LIMIT}
        assert refused["asked"] == {"releases": 1}
        assert refused["positions"] == [0]
    assert counted(place.ledger_url, world.ledger_key.read_bytes(), [entity]) == {entity: LIMIT}
    after = totals(world, place)
    assert after.releases - before.releases == LIMIT
    assert after.refusals - before.refusals == 8 * 12 - LIMIT
    assert after.charged - before.charged == LIMIT


def test_sixty_four_clients_with_many_variants_get_exactly_those_allowed(world, place, fresh):
    """Sixteen different columns for each of two entities: three of them are answered, every time, and no other ever."""
    entities = fresh(2)
    with Crowd(
        place.urls, place.api_key, lambda draw: [draw.choice(entities)], clients=64, most=4, variants=16
    ) as crowd:
        crowd.join()
    assert {one.status for one in crowd.seen} == {200, 429}
    answered = variants_answered(crowd.seen)
    assert {entity: len(found) for entity, found in answered.items()} == dict.fromkeys(entities, VARIANTS)
    refused = [one for one in crowd.seen if one.status == 429 and one.answer["code"] == "variants"]
    assert len(refused) > 50
    assert all(one.variant not in answered[one.entities[0]] for one in refused)
    assert all(one.answer["refused"]["spent"] == {"variants": VARIANTS} for one in refused)
    key = world.ledger_key.read_bytes()
    assert variants_counted(place.ledger_url, key, entities) == dict.fromkeys(entities, VARIANTS)
    assert counted(place.ledger_url, key, entities) == dict(received(crowd.seen))  # nothing charged for a refusal


def test_overlapping_batches_are_counted_as_they_were_received(world, place, fresh):
    """Batches of one to twelve out of six entities, some named twice; a batch that does not fit leaves no trace."""
    entities = fresh(6)
    before = totals(world, place)
    with Crowd(
        place.urls, place.api_key, lambda draw: draw.choices(entities, k=draw.randint(1, 12)), clients=8, most=14
    ) as crowd:
        crowd.join()
    statuses = Counter(one.status for one in crowd.seen)
    assert set(statuses) == {200, 429}
    assert statuses[200] > 20
    assert statuses[429] > 10
    given = received(crowd.seen)
    assert counted(place.ledger_url, world.ledger_key.read_bytes(), entities) == {one: given[one] for one in entities}
    assert max(given.values()) <= LIMIT
    assert min(given.values()) > LIMIT // 2
    receipts = [one.answer["parameters"]["charged"] for one in crowd.seen if one.status == 200]
    after = totals(world, place)
    assert sum(receipts) == given.total() == after.charged - before.charged
    assert after.releases - before.releases == statuses[200]
    assert after.refusals - before.refusals == statuses[429]
    for one in (one for one in crowd.seen if one.status == 429):
        over = {one.entities[position] for position in one.answer["refused"]["positions"]}
        worst = one.answer["refused"]
        assert over
        assert worst["spent"]["releases"] + worst["asked"]["releases"] > LIMIT


def test_while_the_database_is_away_nothing_is_released_and_nothing_is_lost(world, postgres, fresh):
    place, entities = world.places["two gateways on one PostgreSQL"], fresh(40)
    health = [f"{url}/v2/health/ready" for url in place.urls]
    with Crowd(place.urls, place.api_key, lambda draw: draw.sample(entities, 2)) as crowd:
        crowd.wait_for(60)
        postgres.stop()
        crowd.wait_for(len(crowd.seen) + 40)
        time.sleep(1.1)  # health is asked for once a second
        away = [httpx.get(url).status_code for url in health]
        postgres.start()
        started = time.monotonic()
        while sum(one.status in {200, 429} for one in crowd.seen[-40:]) < 40:
            assert time.monotonic() - started < SECONDS
            time.sleep(0.05)
    assert away == [503, 503]
    assert {one.status for one in crowd.seen} <= {200, 429, 503}
    failed = [one for one in crowd.seen if one.status == 503]
    assert {one.answer["code"] for one in failed} == {"ledger-unavailable"}
    assert max(one.seconds for one in crowd.seen) < SECONDS / 2
    have, held = received(crowd.seen), counted(place.ledger_url, world.ledger_key.read_bytes(), entities)
    at_most = have + Counter(entity for one in failed for entity in one.entities)
    assert all(have[entity] <= held[entity] <= at_most[entity] for entity in entities)

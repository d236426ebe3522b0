"""The Python client against a real gateway with two real parties, over TLS."""

import asyncio
import signal
import ssl
import time

import numpy as np
import pytest

from privee.client import (
    GatewayUnavailable,
    NotAllowed,
    PartyFailed,
    QuotaReached,
    Refused,
    UnknownEntity,
    VariantsReached,
    calls,
)
from tests._support.gateway_world import DEFENSE, gateway_world
from tests._support.mentions import mentions
from tests._support.scripted_gateway import KINDS, ask, use


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    options = ("--tls", "--repeatable", "--releases", "3", "--deadline", "1.5")
    with gateway_world(tmp_path_factory.mktemp("client") / "world", *options, "--variants", "none") as running:
        pinned = running.world.gateway(running.addresses, (*DEFENSE, *options), name="pinned")
        try:
            running.pinned = pinned.wait_ready().ready["url"]
            yield running
        finally:
            pinned.stop()


def real(world, kind, role, work, **options):
    given = {"model": world.model, "key": world.key(role), "verify": world.world.certs / "ca.pem"} | options
    return use(kind, world.url, work, **given)


def variant(number):
    """Columns of the active party that nobody asked about before."""
    return np.full((1, 32), number / 1000, dtype=np.float32)


@KINDS
def test_real_gateway_releases_exactly_what_it_sends(world, kind):
    entities = ["17", 42, "200"]
    found = real(world, kind, "consumer", lambda client: client.infer(entities))
    again = real(world, kind, "consumer", lambda client: client.infer(entities))
    body = {"inputs": calls.query(entities).inputs}
    with world.client(verify=ssl_context(world)) as plain:
        raw = plain.post(f"/v2/models/{world.model}/infer", json=body).json()
    assert found.shape == (3, 10)
    assert found.tobytes() == again.tobytes() == np.array(raw["outputs"][0]["data"]).tobytes()
    assert again.charged == 0  # draws are repeatable here
    assert again.release_id != found.release_id
    assert found.remaining == 2


def ssl_context(world):
    return ssl.create_default_context(cafile=world.world.certs / "ca.pem")


@KINDS
def test_real_gateway_counts_and_refuses(world, kind):
    entity = {"sync": "301", "async": "302"}[kind]
    left = [
        real(world, kind, "consumer", lambda client, n=n: client.infer([entity], variant(n))).remaining
        for n in range(3)
    ]
    assert left == [2, 1, 0]
    with pytest.raises(Refused) as caught:
        real(world, kind, "consumer", lambda client: client.infer(["303", entity], np.full((2, 32), 0.5)))
    error = caught.value
    assert (error.positions, error.asked, error.spent, error.limit) == (
        (1,),
        {"releases": 1},
        {"releases": 3},
        {"releases": 3},
    )
    assert not mentions(str(error), entity)
    quote = real(world, kind, "consumer", lambda client: client.price(["303", entity]))
    assert (quote.allowed, quote.remaining, quote.positions) == (False, 0, (1,))
    assert real(world, kind, "auditor", lambda client: client.spent("303"))["lifetime_releases"] == 0
    assert real(world, kind, "auditor", lambda client: client.spent(entity))["spent"] == {"releases": 3}
    reset = real(world, kind, "administrator", lambda client: client.reset(entity, reason="asked to"))
    assert (reset["spent"], reset["lifetime_releases"]) == ({"releases": 0}, 3)
    assert real(world, kind, "consumer", lambda client: client.infer([entity], variant(9))).remaining == 2


def test_real_gateway_answers_many_at_once(world):
    async def many(client):
        assert (await client.model())["name"] == world.model
        return await asyncio.gather(*(client.infer(entity) for entity in range(500, 532)))

    found = real(world, "async", "consumer", many, model=None)  # the gateway tells its only one
    assert {release.shape for release in found} == {(10,)}
    assert {release.classes for release in found} == {tuple("0123456789")}
    assert len({release.release_id for release in found}) == 32


@KINDS
def test_real_gateway_tells_what_auditors_ask(world, kind):
    assert real(world, kind, "consumer", lambda client: client.ready()) is True
    real(world, kind, "consumer", lambda client: client.infer("17"))
    totals = real(world, kind, "auditor", lambda client: client.totals())
    assert totals["limits"] == {"releases": 3}
    assert totals["releases"] >= 1
    chain = real(world, kind, "auditor", lambda client: client.chain())
    last = real(world, kind, "auditor", lambda client: client.log(last=1))
    assert chain["ok"]
    assert [(entry["seq"], entry["hash"]) for entry in last] == [(chain["entries"], chain["head"])]


@KINDS
def test_real_gateway_keys_are_made_used_and_revoked(world, kind):
    made = real(world, kind, "administrator", lambda client: client.keys.create("app", scopes=["other"]))
    with pytest.raises(NotAllowed, match="not for this model"):
        real(world, kind, "consumer", ask, key=made.text)
    key_id = made.record["id"]
    record = real(world, kind, "administrator", lambda client: client.keys.revoke(key_id, reason="a test"))
    assert record["revoked_at"] is not None
    time.sleep(1.1)  # a found key is remembered for a second
    with pytest.raises(NotAllowed, match="valid API key"):
        real(world, kind, "consumer", ask, key=made.text)
    listed = real(world, kind, "administrator", lambda client: client.keys.list())
    assert key_id in [one["id"] for one in listed]
    for call in (lambda client: client.totals(), lambda client: client.keys.list()):
        with pytest.raises(NotAllowed, match="role"):
            real(world, kind, "consumer", call)


@KINDS
def test_real_gateway_quotas(world, kind):
    entities = {"sync": ["311", "312"], "async": ["313", "314"]}[kind]
    quotas = {"entities": "1/hour", "share": 1}
    made = real(world, kind, "administrator", lambda client: client.keys.create("app", scopes=["*"], quotas=quotas))
    key_id = made.record["id"]
    with pytest.raises(QuotaReached, match="quota of entities, 1/hour, has 1 left") as caught:
        real(world, kind, "consumer", lambda client: client.infer(entities), key=made.text)
    error = caught.value
    assert (error.quota, error.asked, error.limit["entities"]) == ("entities", {"entities": 2}, 1)
    assert (error.retry_after, error.status, error.code) == (None, 429, "quota")  # it never fits
    real(world, kind, "consumer", lambda client: client.infer(entities[:1]), key=made.text)
    with pytest.raises(Refused) as caught:
        real(world, kind, "consumer", lambda client: client.infer(entities[1:]), key=made.text)
    assert 3500 < caught.value.retry_after <= 3600
    record = real(
        world, kind, "administrator", lambda client: client.keys.set_quotas(key_id, reason="a test", entities="none")
    )
    assert record["quotas"] == {"releases": "1000/day", "entities": None, "share": 1.0}
    real(world, kind, "consumer", lambda client: client.infer(entities[1:]), key=made.text)
    count = real(world, kind, "administrator", lambda client: client.reset_many(key_id=key_id, reason="leaked"))
    again = real(world, kind, "administrator", lambda client: client.reset_many(entities, reason="leaked"))
    assert count == again == 2


@KINDS
def test_real_gateway_pins_what_was_asked(world, kind):
    """Draws are repeatable here: the same question stays free, and another variant is refused."""
    entity, options = {"sync": "321", "async": "322"}[kind], {"verify": world.world.certs / "ca.pem"}
    options |= {"model": world.model, "key": world.key("consumer")}
    first = use(kind, world.pinned, lambda client: client.infer([entity]), **options)
    again = use(kind, world.pinned, lambda client: client.infer([entity]), **options)
    assert (first.tobytes(), again.charged) == (again.tobytes(), 0)
    with pytest.raises(VariantsReached, match="more variants of columns than allowed") as caught:
        use(kind, world.pinned, lambda client: client.infer([entity, "323"], np.full((2, 32), 0.5)), **options)
    error = caught.value
    assert (error.status, error.code, error.positions, error.maybe_counted) == (429, "variants", (0,), False)
    assert (error.asked, error.spent, error.limit) == ({"variants": 1}, {"variants": 1}, {"variants": 1})
    assert not mentions(str(error), entity)
    quote = use(kind, world.pinned, lambda client: client.price([entity, "323"]), **options)
    assert (quote.allowed, quote.variants) == (True, {"used": 1, "allowed": 1})
    assert real(world, kind, "consumer", lambda client: client.price([entity])).variants == {"used": 1, "allowed": None}
    assert real(world, kind, "auditor", lambda client: client.spent("323"))["variants"] == 0
    spent = real(world, kind, "auditor", lambda client: client.spent(entity))
    assert (spent["variants"], spent["lifetime_releases"]) == (1, 1)


@KINDS
def test_real_gateway_does_not_know_everybody(world, kind):
    with pytest.raises(UnknownEntity) as caught:
        real(world, kind, "consumer", lambda client: client.infer(["17", "nobody-here"]))
    assert caught.value.positions == (1,)
    assert "nobody-here" not in str(caught.value)
    end = time.monotonic() + 10
    while caught.value.request_id not in world.log:  # it is written when the answer is out
        assert time.monotonic() < end
        time.sleep(0.01)
    assert "nobody-here" not in world.log


@KINDS
def test_real_gateway_with_a_hung_party_charges_nothing(world, kind):
    party = world.parties["passive-1"]
    party.send(signal.SIGSTOP)
    try:
        with pytest.raises(PartyFailed, match=r"party passive-1 did not answer in 1\.5 s") as caught:
            real(world, kind, "consumer", lambda client: client.infer("601"), retries=0)
    finally:
        party.send(signal.SIGCONT)
    assert (caught.value.status, caught.value.maybe_counted) == (504, False)
    assert real(world, kind, "auditor", lambda client: client.spent("601"))["lifetime_releases"] == 0
    assert real(world, kind, "consumer", lambda client: client.infer("17")).shape == (10,)


@KINDS
def test_real_gateway_must_show_a_certificate_we_trust(world, kind):
    for url, options in ((world.url, {"verify": True}), (world.url.replace("127.0.0.1", "127.0.0.2"), {})):
        given = {"key": world.key("consumer"), "verify": world.world.certs / "ca.pem"} | options
        with pytest.raises(GatewayUnavailable) as caught:
            use(kind, url, ask, **given)
        assert not caught.value.maybe_counted
    with pytest.raises(GatewayUnavailable, match="certificate"):
        real(world, kind, "consumer", ask, verify=True)

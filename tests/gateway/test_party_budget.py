"""What a party's own ledger refuses, the gateway tells as such, and charges nothing."""

import httpx
import pytest

from privee.client import Client
from privee.client.errors import RateLimited, Refused
from privee.gateway.channel.party_channel import PartyChannel
from privee.party.errors import PartyError
from tests._support.gateway_world import MODEL, body

WORDS = "refuses some of these entities: they have given all that its own ledger allows"


@pytest.fixture
def refusing(local, monkeypatch):
    async def embeddings(*_):
        raise PartyError("passive-1", "budget", WORDS)

    monkeypatch.setattr(PartyChannel, "embeddings", embeddings)
    return local


def test_it_is_a_429_that_names_the_party_and_costs_nothing(refusing):
    headers = {"Authorization": f"Bearer {refusing.key('consumer')}"}
    path = f"/v2/models/{MODEL}/infer"
    with httpx.Client(base_url=refusing.url, headers=headers) as client:
        answers = [client.post(path, json=body(*entities)) for entities in (("1",), ("1", "2"))]
    for answer in answers:
        assert answer.status_code == 429
        assert answer.json() == {"error": f"party passive-1 {WORDS}", "code": "party-budget"}
        assert "retry-after" not in answer.headers
    totals = refusing.service.ledger.totals()
    assert (totals.charged, totals.entities) == (0, 0)
    with httpx.Client(base_url=refusing.url, headers={"Authorization": f"Bearer {refusing.key()}"}) as auditor:
        metrics = auditor.get("/metrics").text
    assert 'privee_refusals_total{reason="party-budget"} 2.0' in metrics
    assert "privee_party_errors_total{" not in metrics


def test_the_client_takes_it_for_a_refusal_and_does_not_ask_again(refusing):
    asking = Client(refusing.url, refusing.key("consumer"), model=MODEL)
    with asking as client, pytest.raises(Refused, match="party passive-1 refuses") as caught:
        client.infer("1")
    assert not isinstance(caught.value, RateLimited)
    assert (caught.value.code, caught.value.positions) == ("party-budget", ())

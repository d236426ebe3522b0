"""Use by consumer on the pages, one page for each, and the way there from the bare address."""

import contextlib
import re
import sqlite3
from uuid import uuid4

import pytest

from privee.gateway.ledger.ledger import ChargeRequest, OverQuotaError
from privee.gateway.ledger.quotas import Quotas
from tests._support.local_gateway import Local, text_of, visitor

NASTY = '<script>alert("x")</script>'


def ask(local: Local, key_id: str, *entities: str) -> None:
    local.service.ledger.charge(ChargeRequest(entities, local.service.inference.price, key_id, uuid4().hex))


def new_consumer(local: Local, name: str, **quotas) -> str:
    return local.service.keys.create(
        name, "consumer", ["digits"], actor="test", quotas=Quotas.parse(**quotas)
    ).record.id


@pytest.fixture
def busy(local):
    """The id of a consumer that was answered twice, with four releases, and refused once."""
    key_id = new_consumer(local, NASTY, releases="5/day")
    ask(local, key_id, "17", "42", "43")
    ask(local, key_id, "17")
    with pytest.raises(OverQuotaError):
        ask(local, key_id, "50", "51")
    new_consumer(local, "night batch")
    return key_id


def test_the_dashboard_has_use_by_consumer(local, busy):
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui").text
        shown = text_of(page)
        assert f"{NASTY} {busy} 3 1 4 80 % 4 of 5/day releases 20" in shown
        assert "night batch" in shown
        assert "0 0 0 no quota never" in shown
        assert NASTY not in page
        assert "3 requests in the last 24 hours: 2 answered with 4 releases, 1 refused." in shown
        other = text_of(client.get("/ui?from=2020-01-01&to=2020-12-31").text)
        assert (
            f"{NASTY} {busy} 0 0 0 80 % 4 of 5/day releases 20" in other
        )  # the quota and the last request are as of now
        assert "Nobody asked from 2020-01-01 to 2020-12-31 (UTC)." in other


def test_filters_are_applied_and_kept_in_links_and_forms(local, busy):
    ask(local, "0a1b2c3d", "60")
    with visitor(local.url, local.key()) as client:
        page = client.get(f"/ui?range=7d&consumer={busy}&outcome=refused&refresh=30").text
    shown = text_of(page)
    assert "1 request in the last 7 days: 0 answered with 0 releases, 1 refused." in shown
    assert "0a1b2c3d" not in shown
    assert "The most requests first" in shown
    assert f'<option value="{busy}" selected>' in page
    assert '<option value="refused" selected>' in page
    kept = f"consumer={busy}&amp;outcome=refused"
    assert f'href="/ui?range=30d&amp;{kept}&amp;refresh=30#requests"' in page
    assert f'href="/ui/export/requests.csv?range=7d&amp;{kept}" download' in page
    assert '<input type="hidden" name="refresh" value="30">' in page
    assert f'href="/ui/consumers/{busy}?range=7d&amp;outcome=refused"' in page
    assert 'href="/ui?range=7d&amp;refresh=30#requests">Show all</a>' in page


def test_a_consumers_page(local, busy):
    with visitor(local.url, local.key()) as client:
        page = client.get(f"/ui/consumers/{busy}?range=30d").text
        shown = text_of(page)
        assert f"consumer {NASTY} As of" in shown
        assert "Requests answered 2 Requests refused 1 Releases 4 Last request 20" in shown
        assert f"Id {busy} Role consumer Models digits Rate 100/minute Made 20" in shown
        assert "Ends never Quota of releases 80 % 4 of 5/day releases" in shown
        assert "3 requests in the last 30 days: 2 answered with 4 releases, 1 refused." in shown
        assert re.search(r"answered 3 3 3 [0-9a-f]{32} ", shown)
        assert re.search(r"refused 2 0 0 [0-9a-f]{32} ", shown)
        assert NASTY not in page
        assert f'action="/ui/consumers/{busy}#requests"' in page
        assert f'href="/ui/export/requests.csv?range=30d&amp;consumer={busy}"' in page
        assert f'href="/ui/consumers/{busy}?range=7d#requests"' in page

        local.service.keys.revoke(busy, "leaked", actor="test")
        assert f"Id {busy} revoked" in text_of(client.get(f"/ui/consumers/{busy}").text)

        ask(local, "0a1b2c3d", "60")  # a key that somebody removed from the list
        shown = text_of(client.get("/ui/consumers/0a1b2c3d?from=2020-01-01&to=2020-01-02").text)
        assert "a key that is not in the list of keys" in shown
        assert "Requests answered 0" in shown


def test_there_are_pages_of_consumers_alone(local):
    auditor = local.key()
    with visitor(local.url, auditor) as client:
        for key_id, status in (("ffffffff", 404), (auditor.split("_")[1], 404), (auditor, 400), ("x", 400)):
            answer = client.get(f"/ui/consumers/{key_id}")
            assert answer.status_code == status
            assert answer.headers["content-type"].startswith("text/html")
            assert auditor not in answer.text
    with visitor(local.url) as stranger:
        for path in ("/ui/consumers/ffffffff", "/ui/export/requests.csv", "/ui/audit"):
            answer = stranger.get(path)
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")


def test_one_entity_by_its_tag_and_to_whom_it_gave(local):
    key_id = new_consumer(local, "known", entities="10/day")
    ask(local, key_id, "17", "17")
    ask(local, "0a1b2c3d", "42")
    tags = {name: local.service.ledger.spent(name).tag for name in ("17", "42", "nobody")}
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui").text
        assert f'href="/ui?entity={tags["17"]}#entities"' in page
        shown = text_of(client.get(f"/ui?entity={tags['17']}").text)
        assert f"{tags['17']} 2 of 2 releases 0 of 1 100 %" in shown
        assert tags["42"] not in shown
        assert "Consumer Releases Last release known 2 20" in shown
        shown = text_of(client.get(f"/ui?entity={tags['42']}").text)
        assert "Nothing is written down for this one." in shown
        strange = text_of(client.get(f"/ui?entity={tags['nobody']}").text)
        assert f"No entity with the tag {tags['nobody']} has given anything away." in strange
        found = client.post("/ui/entity", data={"entity": "17"}).text
        assert f'href="/ui?entity={tags["17"]}#entities"' in found


def test_the_bare_address_leads_browsers_to_the_dashboard_and_programs_nowhere(local):
    with visitor(local.url) as client:
        browser = client.get("/", headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert (browser.status_code, browser.headers["location"]) == (303, "/ui")
        for accept in ("application/json", "*/*", ""):
            answer = client.get("/", headers={"accept": accept})
            assert (answer.status_code, answer.json()) == (404, {"error": "Not Found", "code": "not-found"})
        for path in ("/v2", "/v2/health/live"):
            answer = client.get(path, headers={"accept": "text/html"})
            assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        assert "/" not in client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    "change", ["at = 1000000000000000000", "at = 'soon'", "details = '[1]'", "details = '{'", "reason = x'ff'"]
)
def test_a_ledger_that_somebody_tampered_with_can_still_be_looked_at(local, change):
    """The page says that the chain is broken; it does not break over what it shows of it."""
    local.charge("17")
    key = local.key()
    local.service.ledger.reset("17", reason="because", actor="test")
    with contextlib.closing(sqlite3.connect(local.file)) as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            database.execute(f"DROP TRIGGER {name}")
        database.execute(f"UPDATE audit_log SET {change} WHERE seq = 2")  # noqa: S608 - ours
        database.commit()
    with visitor(local.url, key) as client:
        assert "Broken: entry 2 does not hold" in text_of(client.get("/ui").text)
        answer = client.get("/ui/export/acts.csv")
        assert answer.status_code == 200
        assert answer.text.count("Entity reset") == 1

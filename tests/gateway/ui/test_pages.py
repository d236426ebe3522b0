"""The dashboard and the API's page: who gets in, and what is shown."""

import base64
import contextlib
import hashlib
import html
import re
import sqlite3
from uuid import uuid4

import pytest

from privee.gateway.budget.price import Price
from privee.gateway.ledger.ledger import ChargeRequest
from privee.gateway.ui.examples import EXAMPLES
from tests._support.local_gateway import Local, text_of, visitor

NASTY = '<script>alert("x")</script>'
PAGES = ("/ui", "/ui?range=30d&refresh=30", "/ui/consumers/0a1b2c3d", "/ui/login", "/docs")


# What is shown


def test_at_first_the_page_says_what_will_be_there(local):
    with visitor(local.url, local.key()) as client:
        shown = text_of(client.get("/ui").text)
    assert "Not ready: party active cannot be reached; party passive-1 cannot be reached." in shown
    assert "Requests answered 0 Requests refused 0 Releases 0 Entities counted 0 Audit chain holds" in shown
    assert "Nobody asked in the last 24 hours." in shown
    assert "Nobody may ask yet: there is no key with the role consumer." in shown
    assert "No entity has given anything away yet." in shown
    assert "Each entity may give 2 releases at most." in shown
    assert "each score is only known to lie in an interval".capitalize() in shown
    assert "passive-1 not ready" in shown
    assert "Weights not known" in shown


def test_the_page_counts_what_the_ledger_counts(local):
    for entities in (["17"], ["17", "42"]):
        local.charge(*entities)
    local.service.ledger.refuse(ChargeRequest(["17"], Price(), "0a1b2c3d", uuid4().hex))
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui").text
        shown = text_of(page)
        assert "Requests answered 2 Requests refused 1 Releases 3 Entities counted 2" in shown
        assert "3 requests in the last 24 hours: 2 answered with 3 releases, 1 refused." in shown
        assert "The 2 of 2 entities that have used up most" in shown
        near = [local.service.ledger.spent(entity).tag for entity in ("17", "42")]
        assert f"{near[0]} 2 of 2 releases 1 of 1 100 % {near[1]} 1 of 2 releases 1 of 1 50 %" in shown
        assert 'class="share-bar bad"' in page
        assert re.search(r'class="up" x="23.12" width="0.76" y="2.00" height="64.00"', page)
        assert re.search(r'class="down" x="23.12" width="0.76" y="66.00" height="32.00"', page)

        one = text_of(client.post("/ui/entity", data={"entity": "17"}).text)
        assert "Used up: the next request about this entity is refused." in one
        assert f"Tag {near[0]} Given 2 of 2 releases Variants 1 of 1 Share of the limit 100 % Ever 2 releases" in one
        assert "This entity may give 1 more release." in text_of(client.post("/ui/entity", data={"entity": "42"}).text)
        strange = text_of(client.post("/ui/entity", data={"entity": "nobody"}).text)
        assert "Nothing was ever released about an entity with this id." in strange


def test_acts_are_shown_newest_first_and_a_broken_chain_is_called_so(local):
    local.charge("17")
    local.service.ledger.reset("17", reason="the contract was renewed", actor="key:9defbb4b")
    with visitor(local.url, local.key(name="first auditor")) as client:
        page = client.get("/ui").text
        shown = text_of(page)
        assert "Verified: all 2 entries hold." in shown
        chain = local.service.chain()
        assert f"2:{chain['head']}</textarea>" in page
        tag = local.service.ledger.spent("17").tag
        first, second = shown.index("Key made"), shown.index("Entity reset")
        assert first < second
        assert f"key:9defbb4b Entity reset {tag} the contract was renewed" in shown
        assert "(first auditor, auditor)" in shown

        with contextlib.closing(sqlite3.connect(local.file)) as database:
            names = database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for (name,) in names:
                database.execute(f"DROP TRIGGER {name}")
            database.execute("UPDATE audit_log SET reason = 'another' WHERE seq = 1")
            database.commit()
        shown = text_of(client.get("/ui").text)
        assert "Audit chain broken" in shown
        assert "Broken: entry 1 does not hold" in shown


def test_what_others_wrote_is_escaped(local):
    local.charge(NASTY)
    local.service.ledger.reset(NASTY, reason=f"because {NASTY}", actor=NASTY)
    with visitor(local.url, local.key(name=NASTY)) as client:
        pages = [client.get("/ui"), client.post("/ui/entity", data={"entity": NASTY})]
        pages.append(client.post("/ui/login", data={"key": NASTY}))
        pages.append(client.get("/docs", headers={"host": f'x"{NASTY}$(reboot)'}))
    assert [page.status_code for page in pages] == [200, 200, 401, 200]
    for page in pages:
        assert "<script" not in page.text
    assert pages[0].text.count(html.escape(NASTY)) + pages[0].text.count("&lt;script&gt;alert(&#34;x") >= 3
    assert "reboot" not in pages[3].text


def test_nothing_is_loaded_and_nothing_runs(local):
    with visitor(local.url, local.key()) as client:
        pages = [client.get(path) for path in PAGES]
        pages.append(client.post("/ui/entity", data={"entity": "17"}))
        pages.append(client.post("/ui/login", data={"key": "wrong"}))
        pages.append(client.post("/ui/logout", headers={"sec-fetch-site": "cross-site"}))
    for page in pages:
        style = re.search(r"<style>(.*?)</style>", page.text, flags=re.S)[1]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        assert page.headers["content-security-policy"] == (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'self'; "
            "frame-ancestors 'none'"
        )
        assert page.headers["cache-control"] == "no-store"
        assert not re.search(r"<(script|link|iframe|object|embed|base|img)\b|@import|url\(|javascript:", page.text)
        assert not re.search(r"<[^>]*\s(on[a-z]+|style|src)\s*=", page.text)
        assert not re.search(r"(href|action)=\"(?!/|#)", page.text)


def test_pages_can_be_used_without_sight_or_mouse(local):
    local.charge("17")
    with visitor(local.url, local.key()) as client:
        pages = [client.get(path).text for path in PAGES]
    for page in pages:
        assert '<html lang="en">' in page
        assert len(re.findall(r"<h1\b", page)) == 1
        ids = re.findall(r'\sid="([^"]*)"', page)
        assert len(ids) == len(set(ids))
        named = re.findall(r'(?:href="#|aria-labelledby="|aria-describedby="|for=")([^"]*)"', page)
        assert {name for names in named for name in names.split()} <= set(ids)
        fields = re.findall(r'<(?:input|select|textarea) id="([^"]*)"', page)
        assert set(fields) == set(re.findall(r'<label for="([^"]*)"', page))
        for table in re.findall(r"<table\b.*?</table>", page, flags=re.S):
            assert table.count("<caption") == 1
            assert not re.search(r"<th(?![^>]*scope=)[ >]", table)
    assert pages[0].count("<table") == 6


def test_the_page_refreshes_only_if_asked(local):
    with visitor(local.url, local.key()) as client:
        plain, asked = (client.get(f"/ui{more}").text for more in ("", "?refresh=30"))
    assert 'http-equiv="refresh"' not in plain
    assert '<meta http-equiv="refresh" content="30">' in asked
    assert "Refresh every 30 s" in text_of(plain)
    assert "Stop refreshing every 30 s" in text_of(asked)


@pytest.mark.parametrize(
    ("asked", "shown"), [("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("", "24 hours")]
)
def test_ranges_are_chosen_by_link(local, asked, shown):
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui", params={"range": asked}).text
    assert re.findall(r'aria-current="true">([^<]*)<', page) == [shown]
    assert f"Nobody asked in the last {shown}." in text_of(page)


def test_odd_forms_get_a_page_and_no_echo(local):
    with visitor(local.url, local.key()) as client:
        for data, files in (({"entity": ""}, None), ({"entity": "é" * 200}, None), (None, {"entity": b"secret"})):
            answer = client.post("/ui/entity", data=data, files=files)
            assert answer.status_code == 400
            assert answer.headers["content-type"].startswith("text/html")
            assert "secret" not in answer.text
            assert "éé" not in answer.text


def test_without_a_ledger_the_page_says_so(local):
    with visitor(local.url, local.key()) as client:
        with contextlib.closing(sqlite3.connect(local.file)) as database:
            database.execute("ALTER TABLE api_keys RENAME TO gone")
        for answer in (client.get("/ui"), client.post("/ui/login", data={"key": "privee_0a1b2c3d_" + "S" * 43})):
            assert answer.status_code == 503
            assert "The ledger cannot be read" in text_of(answer.text)
            assert answer.headers["content-type"].startswith("text/html")


def test_answers_that_are_not_counted_are_called_so(folder, tmp_path):
    with Local(folder, tmp_path, releases=None, counted=False) as local, visitor(local.url, local.key()) as client:
        shown = text_of(client.get("/ui").text)
    assert "Answers are not counted." in shown
    assert "Everything, without end: nothing is counted." in shown


# The API's page


def test_the_api_page_has_every_operation(local):
    with visitor(local.url) as client:
        document, page = client.get("/openapi.json").json(), client.get("/docs").text
    ids = {details["operationId"] for methods in document["paths"].values() for details in methods.values()}
    assert ids == set(EXAMPLES)
    shown = text_of(page)
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            assert f"{method.upper()} {path} {details['description'].split()[0]}" in shown

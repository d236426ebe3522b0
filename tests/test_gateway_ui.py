"""The dashboard and the API's page: who gets in, and what is shown."""

import base64
import contextlib
import hashlib
import html
import re
import sqlite3
import threading
from uuid import uuid4

import pytest

from privee.gateway.budget.price import Price
from privee.gateway.ledger.ledger import Ask
from privee.gateway.ui.examples import EXAMPLES
from privee.gateway.ui.sign_in import FAILURES, LIFE_SECONDS, MOST, Sessions
from tests.local_gateway import Local, running_local, text_of, trained, visitor  # noqa: F401 (fixtures)

NASTY = '<script>alert("x")</script>'
UNFIT = "This is not a valid key of an auditor or an administrator."
PAGES = ("/ui", "/ui?range=30d&refresh=30", "/ui/login", "/docs")


# Who gets in


def test_without_a_session_there_is_only_the_way_to_sign_in(local):
    with visitor(local.url) as client:
        for answer in (client.get("/ui"), client.post("/ui/entity", data={"entity": "17"})):
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui/login")
        client.cookies.set("privee_session", "A" * 43, path="/ui")
        assert client.get("/ui").status_code == 303


def test_auditors_and_administrators_get_in(local):
    for role in ("auditor", "administrator"):
        with visitor(local.url, local.key(role, f"the {role}")) as client:
            page = client.get("/ui")
            assert page.status_code == 200
            assert f"Signed in with the key the {role} ({role})" in text_of(page.text)


def test_every_unfit_key_gets_the_same_words_and_no_cookie(local):
    revoked = local.key()
    local.service.keys.revoke(revoked.split("_")[1], "lost", actor="test")
    changed = local.key()[:-1] + "!"
    unfit = [local.key("consumer"), revoked, changed, "", NASTY, "\u0000\udcff".encode("utf-8", "surrogatepass")]
    with visitor(local.url) as client:
        answers = [client.post("/ui/login", data={"key": key}) for key in unfit]
        assert {answer.status_code for answer in answers} == {401}
        assert len({answer.text for answer in answers}) == 1
        assert UNFIT in text_of(answers[0].text)
        assert not any("set-cookie" in answer.headers for answer in answers)
        assert client.get("/ui").status_code == 303


def test_failed_attempts_are_limited_by_address(local):
    key = local.key()
    with visitor(local.url) as client, visitor(local.url, address="127.0.0.2") as other:
        first = [client.post("/ui/login", data={"key": "wrong"}).status_code for _ in range(FAILURES.amount)]
        assert first == [401] * 10
        for given_key in ("wrong", key):
            answer = client.post("/ui/login", data={"key": given_key})
            assert answer.status_code == 429
            assert 1 <= int(answer.headers["retry-after"]) <= 60
            assert "set-cookie" not in answer.headers
        assert other.post("/ui/login", data={"key": key}).status_code == 303


def test_attempts_at_the_same_time_are_limited_too(local):
    with visitor(local.url) as client:
        found: list[int] = []

        def attempt() -> None:
            found.append(client.post("/ui/login", data={"key": "wrong"}).status_code)

        threads = [threading.Thread(target=attempt) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [401] * 10 + [429] * 20


def test_the_cookie_is_for_this_site_alone(folder, tmp_path):
    for secured in (False, True):
        place = tmp_path / str(secured)
        place.mkdir()
        # The setting alone: this server itself speaks plain HTTP.
        settings = {"certs": folder / "certs", "tls": secured} if secured else {}
        with Local(folder, place, **settings) as local, visitor(local.url) as client:
            cookie = client.post("/ui/login", data={"key": local.key()}).headers["set-cookie"]
            token, *rules = cookie.split("; ")
            assert re.fullmatch(r"privee_session=[\w-]{43}", token)
            wanted = {"httponly", "samesite=strict", "path=/ui", f"max-age={LIFE_SECONDS}"}
            assert {rule.lower() for rule in rules} == wanted | ({"secure"} if secured else set())


def test_a_session_ends_when_its_key_is_revoked(local):
    key = local.key()
    with visitor(local.url, key) as client, visitor(local.url, local.key()) as other:
        assert client.get("/ui").status_code == 200
        local.service.keys.revoke(key.split("_")[1], "lost", actor="test")
        assert client.get("/ui").status_code == 303
        assert other.get("/ui").status_code == 200


def test_signing_out_ends_the_session_for_good(local):
    with visitor(local.url, local.key()) as client:
        token = client.cookies["privee_session"]
        assert client.post("/ui/logout").headers["location"] == "/ui/login"
        assert "privee_session" not in client.cookies
        client.cookies.set("privee_session", token, path="/ui")
        assert client.get("/ui").status_code == 303


def test_sessions_end_after_a_while_and_keep_neither_token_nor_key():
    now = [1000.0]
    sessions = Sessions(clock=lambda: now[0])
    token = sessions.start("3f0a9c2e")
    assert token not in repr(vars(sessions))
    now[0] += LIFE_SECONDS - 1
    assert sessions.key_id(token) == "3f0a9c2e"
    now[0] += 1
    assert sessions.key_id(token) is None
    tokens = [sessions.start("3f0a9c2e") for _ in range(MOST + 1)]
    assert [sessions.key_id(one) for one in (tokens[0], tokens[1], tokens[-1])] == [None, "3f0a9c2e", "3f0a9c2e"]


@pytest.mark.parametrize(
    "headers",
    [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"origin": "https://elsewhere.example"},
        {"origin": "null"},
        {},
    ],
)
def test_forms_of_other_sites_are_refused(local, headers):
    key = local.key()
    with visitor(local.url, key) as client:
        del client.headers["sec-fetch-site"]
        for path, data in (("/ui/login", {"key": key}), ("/ui/entity", {"entity": "17"}), ("/ui/logout", {})):
            answer = client.post(path, data=data, headers=headers)
            assert answer.status_code == 403
            assert "set-cookie" not in answer.headers
        assert client.get("/ui").status_code == 200
        assert client.post("/ui/entity", data={"entity": "17"}, headers={"origin": local.url}).status_code == 200


def test_pages_count_against_the_keys_rate(local):
    text = local.service.keys.create("slow", "auditor", rate="3/minute", actor="test").text
    with visitor(local.url, text) as client:
        answers = [client.get("/ui") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert "Too many requests" in text_of(answers[-1].text)
    assert int(answers[-1].headers["retry-after"]) >= 1


# What is shown


def test_at_first_the_page_says_what_will_be_there(local):
    with visitor(local.url, local.key()) as client:
        shown = text_of(client.get("/ui").text)
    assert "Not ready: party active cannot be reached; party passive-1 cannot be reached." in shown
    assert "Releases 0 Refusals 0 Entities counted 0 Audit chain holds" in shown
    assert "Nobody asked in the last 24 hours." in shown
    assert "No entity has given anything away yet." in shown
    assert "Each entity may give 2 releases at most." in shown
    assert "each score is only known to lie in an interval".capitalize() in shown
    assert "passive-1 not ready" in shown
    assert "Weights not known" in shown


def test_the_page_counts_what_the_ledger_counts(local):
    for entities in (["17"], ["17", "42"]):
        local.charge(*entities)
    local.service.ledger.refuse(Ask(["17"], Price(), "0a1b2c3d", uuid4().hex))
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui").text
        shown = text_of(page)
        assert "Releases 2 Refusals 1 Entities counted 2" in shown
        assert "In the last 24 hours: 2 releases and 1 refusal." in shown
        assert "The 2 of 2 entities that have used up most" in shown
        near = [local.service.ledger.spent(entity).tag for entity in ("17", "42")]
        assert f"{near[0]} 2 of 2 releases 100 % {near[1]} 1 of 2 releases 50 %" in shown
        assert 'class="share-bar bad"' in page
        assert re.search(r'class="up" x="23.12" width="0.76" y="2.00" height="64.00"', page)
        assert re.search(r'class="down" x="23.12" width="0.76" y="66.00" height="32.00"', page)

        one = text_of(client.post("/ui/entity", data={"entity": "17"}).text)
        assert "Used up: the next request about this entity is refused." in one
        assert f"Tag {near[0]} Given 2 of 2 releases Share of the limit 100 % Ever 2 releases" in one
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
        pages = [client.get(f"/ui?range={NASTY}&refresh={NASTY}"), client.post("/ui/entity", data={"entity": NASTY})]
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
        fields = re.findall(r'<(?:input|textarea) id="([^"]*)"', page)
        assert set(fields) == set(re.findall(r'<label for="([^"]*)"', page))
        for table in re.findall(r"<table\b.*?</table>", page, flags=re.S):
            assert table.count("<caption") == 1
            assert not re.search(r"<th(?![^>]*scope=)[ >]", table)
    assert pages[0].count("<table") == 3


def test_the_page_refreshes_only_if_asked(local):
    with visitor(local.url, local.key()) as client:
        plain, asked, odd = (client.get(f"/ui{more}").text for more in ("", "?refresh=30", "?refresh=0"))
    assert 'http-equiv="refresh"' not in plain + odd
    assert '<meta http-equiv="refresh" content="30">' in asked
    assert "Refresh every 30 s" in text_of(plain)
    assert "Stop refreshing every 30 s" in text_of(asked)


@pytest.mark.parametrize(
    ("asked", "shown"), [("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"), ("x", "24 hours")]
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


def test_a_key_expires_by_the_ledgers_clock_on_the_pages_too(local):
    made = local.service.keys.create("soon over", "auditor", ["*"], actor="test", expires_in=60)
    with visitor(local.url, made.text) as client:
        assert client.get("/ui").status_code == 200
        local.service.ledger._clock.not_before(made.record.expires_at)  # the wall clock may be behind the ledger's
        assert client.get("/ui").status_code == 303


def test_strangers_cannot_make_the_pages_read_much(local):
    with visitor(local.url) as client:
        answer = client.post("/ui/login", data={"key": "x" * 20_000})
        assert (answer.status_code, answer.json()["code"]) == (413, "too-large")

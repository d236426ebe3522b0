"""The dashboard and the API's page: who gets in, what is shown, and how it looks in a real browser."""

import base64
import contextlib
import hashlib
import html
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import threading
import time
from pathlib import Path
from uuid import uuid4

import httpx
import numpy as np
import pytest
import uvicorn
from PIL import Image

from privee.defenses import defense
from privee.gateway.demo import World, make_world
from privee.gateway.http.app import make_app
from privee.gateway.ledger.ledger import Ask, Ledger
from privee.gateway.ledger.limits import UNIT, Limits, Price
from privee.gateway.service import Health, open_service
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.allowance import allowance, given
from privee.gateway.ui.entry import FAILURES
from privee.gateway.ui.examples import EXAMPLES
from privee.gateway.ui.overview import status_words
from privee.gateway.ui.sessions import LIFE_SECONDS, MOST, Sessions
from privee.gateway.ui.timeline import RANGES, beginning, timeline
from tests.browser import PROBLEMS, real_browser
from tests.gateway_world import MODEL, gateway_world, infer

NASTY = '<script>alert("x")</script>'
HERE = {"sec-fetch-site": "same-origin"}
UNFIT = "This is not a valid key of an auditor or an administrator."
PAGES = ("/ui", "/ui?range=30d&refresh=30", "/ui/login", "/docs")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A trained run with certificates, for all gateways here."""
    place = tmp_path_factory.mktemp("ui")
    make_world(place, epochs=3)
    return place


@pytest.fixture(scope="module")
def world(folder):
    """Two parties and a gateway as processes; each entity may give three releases."""
    with gateway_world(folder, "--defense", "ordered-dp:epsilon=1", "--epsilon", "3") as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    with real_browser() as found:
        yield found


class Local:
    """A gateway in this process, with a ledger of its own; its parties do not exist."""

    def __init__(self, folder: Path, place: Path, **settings) -> None:
        self.file, key = place / "ledger.db", folder / "ledger.key"
        url = f"sqlite:///{self.file}"
        Ledger.create(url, key.read_bytes())
        given = {"defense": defense("privee-u:rho=0.1"), "releases": 2, "deadline": 0.5} | settings
        parties = {"active": "127.0.0.1:1", "passive-1": "127.0.0.1:2"}
        run = World(folder).run
        self.service = open_service(GatewaySettings(run=run, parties=parties, ledger_url=url, ledger_key=key, **given))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server = uvicorn.Server(uvicorn.Config(make_app(self.service), log_config=None, access_log=False))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})

    def __enter__(self) -> "Local":
        self._thread.start()
        while not self._server.started:
            time.sleep(0.005)
        return self

    def __exit__(self, *_) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def key(self, role: str = "auditor", name: str = "somebody") -> str:
        return self.service.keys.create(name, role, ["*"], actor="test").text

    def charge(self, *entities: str) -> None:
        self.service.ledger.charge(Ask(entities, self.service.inference.price, "0a1b2c3d", uuid4().hex))


@pytest.fixture
def local(folder, tmp_path):
    with Local(folder, tmp_path) as found:
        yield found


@contextlib.contextmanager
def visitor(url: str, key: str = "", address: str = "127.0.0.1"):
    """Somebody with a browser's headers, signed in if a key is given."""
    transport = httpx.HTTPTransport(local_address=address)
    with httpx.Client(base_url=url, headers=HERE, transport=transport) as client:
        if key:
            answer = client.post("/ui/login", data={"key": key})
            assert (answer.status_code, answer.headers["location"]) == (303, "/ui")
        yield client


def text_of(page: str) -> str:
    """What a reader sees, on one line."""
    words = re.sub(r"<(style|title)\b.*?</\1>|<[^>]+>", " ", page, flags=re.S)
    return " ".join(html.unescape(words).replace("\u00a0", " ").split())


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


# Words and numbers


def settings(**more) -> GatewaySettings:
    usual = {"run": Path("r"), "parties": {}, "defense": defense("none"), "ledger_url": "", "ledger_key": Path("k")}
    return GatewaySettings(**usual | more)


@pytest.mark.parametrize(
    ("given_settings", "limits", "words"),
    [
        ({}, Limits(), "Each entity may give any number of releases: they are counted, and there is no limit."),
        ({}, Limits(releases=1), "Each entity may give 1 release at most."),
        ({}, Limits(epsilon=3 * UNIT), "a total epsilon of 3 (simply added up) at most, which is 6 releases."),
        (
            {},
            Limits(releases=4, epsilon=3 * UNIT, delta=1e-6),
            "4 releases and a total epsilon of 3 (by basic or advanced composition with delta 1e-06) at most, which "
            "is 4 releases.",
        ),
        ({}, Limits(releases=2, window=7 * 86400), "starts anew 7 days after the release it began with"),
        ({"repeatable": True}, Limits(), "The same question again gets the same answer, and is not counted."),
        ({"within": 0.01, "probability": 0.1}, Limits(releases=9), "to within 1 % of its value stays at or below 10 %"),
    ],
)
def test_what_is_allowed_in_words(given_settings, limits, words):
    assert words in allowance(settings(**given_settings), limits, Price.of_epsilon(0.5))


def test_what_was_given_in_words():
    spent = {"releases": 1200, "epsilon": 0.1 + 0.2}
    assert given(spent, Limits()) == "1,200 releases"
    assert given(spent, Limits(releases=5000, epsilon=UNIT)) == "1,200 of 5,000 releases, epsilon 0.3 of 1"


def test_the_status_names_who_is_to_blame():
    assert status_words(Health(ledger=False, parties={})) == "the ledger cannot be read."


def test_the_timeline_has_no_gaps_and_shows_every_request():
    shown, now = RANGES["24h"], 1_700_000_000
    start = beginning(shown, now)
    assert now - 24 * 3600 < start <= now - 23 * 3600
    found = timeline(shown, now, [(start, 1000, 0), (start + 7200, 2, 1), (start - 3600, 50, 50)])
    assert [step.start for step in found.steps] == [start + 3600 * hour for hour in range(24)]
    assert (found.releases, found.refusals, found.most_releases, found.most_refusals) == (1002, 1, 1000, 1)
    assert found.busiest.releases == 1000
    tallest, small = found.bars[0], found.bars[2]
    assert tallest.up == pytest.approx(found.axis - 2)
    assert small.down == small.up == 1.5  # little, but to be seen
    assert all(found.axis - bar.up >= 0 and found.axis + bar.down <= 100 for bar in found.bars)


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


def commands(page: str) -> dict[str, str]:
    """Each operation's command, by the operation's id."""
    found = re.findall(r'<h3 id="(\w+)">.*?<h4>Command</h4>\n<pre[^>]*><code>(.*?)</code>', page, flags=re.S)
    return {name: html.unescape(command) for name, command in found}


def test_the_api_pages_commands_work_for_those_it_names_and_nobody_else(world):
    shell = shutil.which("sh")
    if shell is None or shutil.which("curl") is None:
        pytest.skip("the commands need sh and curl: apt-get install curl")
    with visitor(world.url) as client:
        all_commands = commands(client.get("/docs").text)
    assert set(all_commands) == set(EXAMPLES)
    for name, command in all_commands.items():
        example = EXAMPLES[name]
        for role in ("consumer", "auditor", "administrator"):
            fresh = world.world.api_key("consumer").split("_")[1]
            values = {"URL": world.url, "MODEL": MODEL, "KEY": world.key(role), "KEY_ID": fresh}
            written = command.replace("curl", "curl --silent --write-out '\n%{http_code}'", 1)
            done = subprocess.run(  # noqa: S603 (the page's own commands)
                [shell, "-c", written], env=os.environ | values, capture_output=True, check=True
            )
            answer, status = done.stdout.decode().rsplit("\n", 1)
            allowed = not example.who or role in example.who
            assert (name, role, status) == (name, role, "200" if allowed else "403")
            if allowed and name != "metrics":
                assert same_shape(json.loads(answer), example.answer), name
            if allowed and name == "metrics":
                assert example.answer.splitlines()[0] in answer


def same_shape(found, example) -> bool:
    """The same names, on all levels."""
    if isinstance(example, dict):
        return (
            isinstance(found, dict)
            and found.keys() == example.keys()
            and all(same_shape(found[name], part) for name, part in example.items() if name != "details")
        )
    if isinstance(example, list) and example and isinstance(example[0], dict):
        return bool(found) and all(same_shape(one, example[0]) for one in found)
    return isinstance(found, list) == isinstance(example, list)


# In a browser


class Window:
    """A browser's window, and everything its pages complained about or asked for."""

    def __init__(self, browser, *, width: int = 1280, scheme: str = "light") -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url}"))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def __enter__(self) -> "Window":
        return self

    def __exit__(self, *_) -> None:
        self.context.close()

    @property
    def focused(self) -> str:
        return self.page.evaluate("document.activeElement.id || document.activeElement.textContent")

    def tab_to(self, what: str) -> None:
        """Press Tab until this is in focus; every stop on the way can be seen to be in focus."""
        for _ in range(60):
            self.page.keyboard.press("Tab")
            outline = self.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", self.focused
            if self.focused == what:
                return
        raise AssertionError(f"{what} is not reached by Tab")

    def submit(self) -> None:
        with self.page.expect_navigation():
            self.page.keyboard.press("Enter")

    @property
    def shown(self) -> str:
        return " ".join(self.page.inner_text("body").replace("\u00a0", " ").split())


def test_by_keyboard_alone_numbers_change_after_a_real_inference(world, browser):
    secret_id = f"customer-{uuid4().hex}"
    with Window(browser) as window, world.client() as consumer:
        window.page.goto(f"{world.url}/ui")
        assert window.page.url == f"{world.url}/ui/login"
        assert window.focused == "key"
        window.page.keyboard.type(world.key("auditor"))
        window.submit()
        assert window.page.url == f"{world.url}/ui"
        assert "Ready: the ledger can be read, and both parties answer." in window.shown
        before = counts(window)

        assert [infer(consumer, "1001").status_code for _ in range(5)] == [200, 200, 200, 429, 429]
        window.page.reload()
        after = counts(window)
        assert after == (before[0] + 3, before[1] + 2, before[2] + 1)
        assert "epsilon 3 of 3 100 %" in window.shown
        assert f"In the last 24 hours: {after[0]} releases and {after[1]} refusals." in window.shown

        window.page.keyboard.press("Tab")
        assert window.focused == "Skip to the content"
        window.page.keyboard.press("Enter")
        assert window.focused == "main"
        window.tab_to("entity")
        window.page.keyboard.type("1001")
        window.submit()
        assert "Used up: the next request about this entity is refused." in window.shown
        assert "1001" not in window.page.url + window.page.content()
        window.tab_to("entity")
        window.page.keyboard.type(secret_id)
        window.submit()
        assert "Nothing was ever released about an entity with this id." in window.shown
        assert secret_id not in window.page.url + window.page.content()
        window.tab_to("Sign out")
        window.submit()
        assert window.page.url == f"{world.url}/ui/login"
        window.page.goto(f"{world.url}/ui")
        assert window.page.url == f"{world.url}/ui/login"
        assert window.complaints == []
        assert all(url.startswith(f"{world.url}/") for url in window.requests)
    written = world.log
    assert '"route": "/ui/entity"' in written
    assert not any(secret in written for secret in (secret_id, world.key("auditor"), world.key("auditor")[16:]))


def counts(window: Window) -> tuple[int, ...]:
    """Releases, refusals and entities as the page has them."""
    return tuple(int(part.replace(",", "")) for part in window.page.locator(".facts dd").all_inner_texts()[:3])


def test_a_party_that_hangs_is_named(world, browser):
    hung = world.parties["passive-1"]
    with Window(browser) as window:
        hung.send(signal.SIGSTOP)
        try:
            time.sleep(1.1)  # health is remembered for a second
            sign_in(window, world)
        finally:
            hung.send(signal.SIGCONT)
        assert re.search(r"Not ready: party passive-1 (did not answer in 2\.0 s|cannot be reached)\.", window.shown)
        assert window.page.title().startswith("Not ready")
        assert window.page.locator(".card .badge").all_inner_texts() == ["ready", "not ready"]
        time.sleep(1.1)
        window.page.reload()
        assert window.page.locator(".card .badge").all_inner_texts() == ["ready", "ready"]


def sign_in(window: Window, world) -> None:
    window.page.goto(f"{world.url}/ui/login")
    window.page.keyboard.type(world.key("auditor"))
    window.submit()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1280])
def test_pages_fit_and_can_be_read(world, browser, tmp_path, width, scheme):
    with world.client() as consumer:
        infer(consumer, "1002")
    with Window(browser, width=width, scheme=scheme) as window:
        window.page.goto(f"{world.url}/ui/login")
        problems = {"login": window.page.evaluate(PROBLEMS)}
        sign_in(window, world)
        for path in ("/ui?range=7d", "/docs"):
            window.page.goto(world.url + path)
            window.page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
            problems[path] = window.page.evaluate(PROBLEMS)
            window.page.screenshot(path=tmp_path / "page.png")
            with Image.open(tmp_path / "page.png") as picture:
                light = np.median(np.asarray(picture.convert("L")))
            assert light < 40 if scheme == "dark" else light > 240
        assert not any(problems.values()), problems
        assert window.complaints == []

"""Who gets into the dashboard, and for how long."""

import re
import threading

import pytest

from privee.gateway.ui.sign_in import FAILURES, LIFE_SECONDS, MOST, Sessions
from tests._support.local_gateway import Local, text_of, visitor

NASTY = '<script>alert("x")</script>'
UNFIT = "This is not a valid key of an auditor or an administrator."


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

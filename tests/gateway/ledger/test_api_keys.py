"""API keys: found only with the right text, and only while active; their secrets show nowhere."""

import logging
import re
import secrets
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa

import privee
from privee.durable import audit_chain
from privee.gateway.http.access import allow_model
from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger import api_keys
from privee.gateway.ledger.api_keys import DEFAULT_RATE, KeyRecord, KeyStore, Wanted
from privee.gateway.ledger.quotas import FOR_CONSUMERS
from privee.gateway.ledger.schema import metadata

KEY, CHAIN_KEY = b"k" * 32, b"c" * 32
ACTOR = "cli:tester"


class Clock:
    """Time that a test moves by hand."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.5

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def keys(engine, clock) -> KeyStore:
    return KeyStore(engine, CHAIN_KEY, clock)


def log_of(engine: sa.Engine) -> list[audit_chain.Entry]:
    with engine.connect() as connection:
        assert audit_chain.verify(connection, CHAIN_KEY).ok
        return audit_chain.entries(connection)


def consumer(keys: KeyStore, **other) -> api_keys.IssuedKey:
    return keys.create("shop", "consumer", ["risk"], actor=ACTOR, **other)


def test_a_key_is_found_by_its_text(keys):
    record, text = keys.create(" shop ", "consumer", ["risk", "churn", "risk"], "5/second;100/hour", actor=ACTOR)
    assert re.fullmatch(rf"privee_{record.id}_[A-Za-z0-9_-]{{43}}", text)
    assert re.fullmatch(r"[0-9a-f]{8}", record.id)
    expected = KeyRecord(
        record.id, "shop", "consumer", ("risk", "churn"), "5/second;100/hour", 1_700_000_000, None, None, FOR_CONSUMERS
    )
    assert record == expected
    assert keys.find(text) == expected
    other = keys.create("auditor", "auditor", actor=ACTOR)
    assert keys.find(other.text).role == "auditor"
    assert keys.list() == tuple(sorted([record, other.record], key=lambda key: key.id))
    assert other.record.rate == DEFAULT_RATE
    assert record.as_dict()["scopes"] == ["risk", "churn"]


def test_no_other_text_is_found(keys):
    text = consumer(keys).text
    second = consumer(keys).text
    last = "A" if text[-1] != "A" else "Q"  # differs in the bits that count, not in padding alone
    crossed = second[: len("privee_12345678_")] + text[len("privee_12345678_") :]
    wrong = ["", "privee", text[:-1], text + "A", text[:-1] + last, text.upper(), f" {text}", f"{text}\n", crossed]
    wrong += [
        "privee_00000000_" + text[16:],
        text.replace("privee", "other"),
        "privee__",
        "\x00",
        "é" * 50,
        "a" * 10**6,
    ]
    wrong += ["' OR 1=1 --", "privee_%_" + text[16:]]
    assert [keys.find(one) for one in wrong] == [None] * len(wrong)
    assert keys.find(text) is not None


def test_every_character_of_the_secret_counts(keys):
    text = consumer(keys).text
    for place in range(7, len(text)):
        other = next(letter for letter in "0123456789abcdef" if letter != text[place])
        assert keys.find(text[:place] + other + text[place + 1 :]) is None


def test_an_expired_key_is_not_found(keys, clock):
    record, text = consumer(keys, expires_in=60)
    assert record.expires_at == record.created_at + 60
    assert keys.find(text) == record
    clock.now += 59
    assert keys.find(text) == record
    clock.now += 1
    assert keys.find(text) is None
    assert (record.state(clock.now - 1), record.state(clock.now)) == ("active", "expired")
    assert keys.list() == (record,)


def test_a_revoked_key_is_not_found(keys, clock, engine):
    record, text = consumer(keys)
    other = consumer(keys)
    clock.now += 10
    revoked = keys.revoke(record.id, " left the project ", actor="cli:boss")
    assert revoked == record._replace(revoked_at=record.created_at + 10)
    assert revoked.state(0) == "revoked"
    assert keys.find(text) is None
    assert keys.find(other.text) == other.record
    assert revoked in keys.list()
    entry = log_of(engine)[-1]
    assert (entry.actor, entry.act, entry.subject) == ("cli:boss", "key.revoke", record.id)
    assert (entry.reason, entry.at) == ("left the project", record.created_at + 10)


def test_making_a_key_is_logged(keys, engine):
    record, _ = consumer(keys, rate="7/minute", expires_in=5)
    (entry,) = log_of(engine)
    assert (entry.actor, entry.act, entry.subject, entry.at) == (ACTOR, "key.create", record.id, record.created_at)
    told = {"name": "shop", "role": "consumer", "scopes": ["risk"], "rate": "7/minute"}
    quotas = {"quotas": {"releases": "1000/day", "entities": None, "share": None}}
    assert entry.as_dict()["details"] == told | {"expires_at": record.expires_at} | quotas


def test_revoking_what_is_not_there(keys, engine):
    record, text = consumer(keys)
    with pytest.raises(privee.PriveeError, match="no key with the id 00000000"):
        keys.revoke("00000000", "reason", actor=ACTOR)
    for pasted in (text, text[16:], ""):  # a secret given as an id is not repeated
        with pytest.raises(privee.PriveeError, match="8 hexadecimal digits") as caught:
            keys.revoke(pasted, "reason", actor=ACTOR)
        assert text[16:] not in str(caught.value)
    for reason in ("", "  ", "a\nb", "r" * 1001):
        with pytest.raises(privee.PriveeError, match="reason"):
            keys.revoke(record.id, reason, actor=ACTOR)
    assert keys.find(text) == record
    keys.revoke(record.id, "once", actor=ACTOR)
    with pytest.raises(privee.PriveeError, match="left to revoke"):
        keys.revoke(record.id, "twice", actor=ACTOR)
    assert [entry.act for entry in log_of(engine)] == ["key.create", "key.revoke"]


def test_two_who_revoke_at_once(keys, engine):
    record, _ = consumer(keys)
    start = threading.Barrier(4)

    def revoke(_: int) -> bool:
        start.wait()
        try:
            keys.revoke(record.id, "at once", actor=ACTOR)
        except privee.PriveeError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(revoke, range(4))) == [False, False, False, True]
    assert len(log_of(engine)) == 2


def test_which_models_a_key_covers():
    """The rule that every request goes through (`http.access.allow_model`); roles are tested over HTTP."""

    def record(*scopes: str) -> KeyRecord:
        return KeyRecord("0" * 8, "n", "consumer", scopes, DEFAULT_RATE, 0, None, None)

    assert record("risk", "churn").covers("churn")
    assert record("*").covers("churn")
    assert not record("risk").covers("churn")
    assert not record("risk").covers("ris")
    assert not record().covers("risk")
    allow_model(record("risk"), "risk")
    with pytest.raises(DeniedError, match="not for this model"):
        allow_model(record("risk"), "churn")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": ""}, "name"),
        ({"name": "n" * 129}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "a\x1b[31m"}, "name"),
        ({"name": "a\u202eb"}, "name"),
        ({"role": "root"}, "role must be one of consumer, auditor, administrator"),
        ({"scopes": []}, "needs a scope"),
        ({"scopes": "risk"}, "list"),
        ({"scopes": ["a\x00"]}, "scope"),
        ({"scopes": [""]}, "scope"),
        ({"scopes": ["s" * 129]}, "scope"),
        ({"scopes": [str(n) for n in range(101)]}, "at most 100"),
        ({"rate": ""}, "rate"),
        ({"rate": "many"}, "rate"),
        ({"rate": "0/minute"}, "at least 1"),
        ({"rate": "5/second;0/minute"}, "at least 1"),
        ({"rate": "100/fortnight"}, "rate"),
        ({"rate": "100/minute;" * 10}, "rate"),
        ({"expires_in": 0}, "expire"),
        ({"expires_in": -5}, "expire"),
        ({"expires_in": 10**12}, "expire"),
    ],
)
def test_bad_wishes_are_refused(keys, change, words):
    with pytest.raises(privee.PriveeError, match=words):
        keys.create(**{"name": "n", "role": "consumer", "scopes": ["m"], "actor": ACTOR} | change)
    assert keys.list() == ()


def test_a_bad_actor_leaves_no_key(keys, engine):
    """The key and its entry come together or not at all."""
    with pytest.raises(privee.PriveeError, match="actor"):
        keys.create("n", "auditor", actor="a\nb")
    assert keys.list() == ()
    assert log_of(engine) == []


def test_roles_that_get_no_releases_need_no_scope():
    assert Wanted("n", "auditor").scopes == ("*",)
    assert Wanted("n", "administrator").scopes == ("*",)
    assert Wanted("n", "auditor", ["risk"]).scopes == ("risk",)


def test_an_id_that_is_taken_is_not_given_again(keys, monkeypatch):
    first = consumer(keys).record.id
    drawn = iter([first, first, "0badcafe"])
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(drawn))
    assert consumer(keys).record.id == "0badcafe"


def test_secrets_differ(keys):
    made = [consumer(keys).text for _ in range(20)]
    assert len({text[16:] for text in made}) == 20
    assert len(set("".join(text[16:] for text in made))) > 55  # of 64 letters, each some 13 times


def everything(engine: sa.Engine) -> bytes:
    with engine.connect() as connection:
        tables = [connection.execute(sa.select(table)).all() for table in metadata.sorted_tables]
    return repr(tables).encode()


def test_the_secret_shows_nowhere(keys, engine, caplog, capfd):
    """Not in the database, in logs at their most talkative, in what is printed, nor in any value's text."""
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, "sqlalchemy.engine")
    made = consumer(keys)
    found = keys.find(made.text)
    keys.revoke(made.record.id, "test", actor=ACTOR)
    assert keys.find(made.text) is None
    secret = made.text[16:]
    shown = [repr(made), str(made), f"{made}", repr(found), repr(keys), repr(keys.list()), str(found.as_dict())]
    shown += [caplog.text, *capfd.readouterr()]
    assert "INSERT INTO api_keys" in caplog.text
    assert not any(secret in text for text in shown)
    assert secret.encode() not in everything(engine)
    assert "hash" not in " ".join([repr(found), repr(keys.list()), str(found.as_dict())])
    assert made.text == f"privee_{made.record.id}_{secret}"


def work_of(keys: KeyStore, engine: sa.Engine, text: str) -> dict[str, list]:
    """What find does for a text: every line of api_keys.py in order, every statement, hash and comparison."""
    lines, statements, calls = [], [], []

    def trace(frame, event, _):
        if frame.f_code.co_filename != api_keys.__file__:
            return None
        if event == "line":
            lines.append((frame.f_code.co_name, frame.f_lineno))
        return trace

    def profile(_frame, event, argument):
        if event == "c_call" and argument.__name__ in {"compare_digest", "openssl_sha256"}:
            calls.append(argument.__name__)

    def count(_connection, _cursor, statement, *_):
        statements.append(statement)

    sa.event.listen(engine, "before_cursor_execute", count)
    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        keys.find(text)
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
        sa.event.remove(engine, "before_cursor_execute", count)
    return {"lines": lines, "statements": statements, "calls": calls}


def test_find_does_the_same_work_for_known_and_unknown_ids(keys, engine, clock):
    """Followed line by line rather than timed: the id's being known does not change what is done."""
    text = consumer(keys).text
    wrong_secret = text[:-5] + "AAAAA"
    unknown = "privee_00000000_" + text[16:]
    keys.find(text)  # statements are compiled once
    known, strange, malformed = (work_of(keys, engine, one) for one in (wrong_secret, unknown, "no key at all"))
    assert known == strange == malformed
    assert known["calls"] == ["openssl_sha256", "compare_digest"]
    assert len([one for one in known["statements"] if one.startswith("SELECT")]) == 1
    assert len(known["lines"]) > 8
    assert work_of(keys, engine, text) == known  # nor does the secret's being right


def test_find_takes_no_write_lock(keys, engine):
    """A gateway that writes must not keep others from finding keys."""
    text = consumer(keys).text
    with engine.begin() as connection:
        connection.execute(sa.text("UPDATE api_keys SET name = 'other'"))
        assert keys.find(text).name == "shop"

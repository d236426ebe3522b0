"""`privee ledger` and `privee keys`, run as a user runs them."""

import contextlib
import json
import os
import pwd
import re
import sqlite3
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from privee.defenses.secret_keys import read_key
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Limits, Price, Receipt, RefusedError

ENTITY = "customer 4711"
ACTOR = f"cli:{pwd.getpwuid(os.getuid()).pw_name}"


def charge(times: int = 3, epsilon: float = 0.5) -> None:
    with Ledger.open("sqlite:///ledger.db", read_key("ledger.key"), limits=Limits()) as opened:
        for number in range(times):
            opened.charge(ChargeRequest([ENTITY], Price.of_epsilon(epsilon), "0" * 8, f"{time.time_ns():x}{number}"))


def tamper(statement: str) -> None:
    engine = sa.create_engine("sqlite:///ledger.db")
    with engine.begin() as connection:
        for name in (
            connection.execute(sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'")).scalars().all()
        ):
            connection.execute(sa.text(f"DROP TRIGGER {name}"))
        connection.execute(sa.text(statement))
    engine.dispose()


def test_init_makes_a_private_key_and_a_ledger(privee, good, told, tmp_path):
    out = good("ledger", "init")
    assert "ledger.key (new)" in out
    assert "Next: privee keys create" in out
    assert sorted(os.listdir(tmp_path)) == ["ledger.db", "ledger.key"]
    for name in ("ledger.db", "ledger.key"):
        assert stat.S_IMODE(Path(name).stat().st_mode) == 0o600
    key = Path("ledger.key").read_bytes()
    assert len(key) == 32
    assert told("ledger", "init") == {"url": "sqlite:///ledger.db", "key": "ledger.key", "new_key": False}
    assert Path("ledger.key").read_bytes() == key
    assert told("ledger", "show") == dict.fromkeys(
        ("entities", "releases", "refusals", "charged", "released_entities", "refused_variants"), 0
    )


def test_init_never_makes_a_second_key_for_a_ledger(privee, good):
    good("ledger", "init")
    Path("ledger.key").rename("elsewhere.key")
    code, out, err = privee("ledger", "init")
    assert (code, out, err) == (2, "", "privee: this ledger was made with another key: give it that one\n")
    assert not Path("ledger.key").exists()
    assert good("ledger", "verify", "--key", "elsewhere.key").startswith("Unbroken")


def test_options_come_from_the_environment(privee, good, monkeypatch, tmp_path):
    monkeypatch.setenv("PRIVEE_LEDGER_URL", "sqlite:///other.db")
    monkeypatch.setenv("PRIVEE_LEDGER_KEY", "other.key")
    for command in ("init", "upgrade", "verify", "show", "log"):
        good("ledger", command)
    good("keys", "create", "n", "--role", "auditor")
    good("keys", "list")
    assert sorted(os.listdir(tmp_path)) == ["other.db", "other.db-mark", "other.key"]


def test_verify_prints_what_to_keep_and_takes_it_back(privee, good, told):
    good("ledger", "init")
    good("keys", "create", "boss", "--role", "administrator")
    out = good("ledger", "verify")
    assert out.startswith("Unbroken: all 1 entries hold\n")
    kept = re.search(r"^Keep elsewhere: (1:[0-9a-f]{64})$", out, re.MULTILINE)[1]
    good("keys", "create", "shop", "--role", "consumer", "--scope", "risk")
    good("ledger", "verify", "--expect", kept)
    found = told("ledger", "verify", "--expect", kept)
    assert (found["ok"], found["entries"], found["first_bad"]) == (True, 2, None)
    kept = f"{found['entries']}:{found['head']}"
    tamper("DELETE FROM audit_log WHERE seq = 2")
    assert good("ledger", "verify").startswith("Unbroken")
    code, out, err = privee("ledger", "verify", "--expect", kept)
    assert (code, err) == (1, "")
    assert out.startswith("BROKEN: the log has 1 entries but had 2: its end was removed\n")


def test_verify_fails_if_the_log_was_changed(privee, good):
    good("ledger", "init")
    for name in ("a", "b", "c"):
        good("keys", "create", name, "--role", "auditor")
    tamper("UPDATE audit_log SET actor = 'cli:nobody' WHERE seq = 2")
    code, out, err = privee("ledger", "verify")
    assert (code, err) == (1, "")
    assert out.startswith("BROKEN: entry 2 does not hold")
    code, out, _ = privee("ledger", "verify", "--json")
    assert (code, json.loads(out)["first_bad"]) == (1, 2)
    assert privee("ledger", "verify", "--expect", "junk")[0] == 2


def test_show_one_entity_without_naming_it(privee, good, told):
    good("ledger", "init")
    charge(3, epsilon=0.5)
    out = good("ledger", "show", "--entity", "-", given=f"{ENTITY}\n")
    assert re.search(r"^Entity [0-9a-f]{12}: 3 releases", out)
    assert "In its lifetime: 3 releases, epsilon 1.5" in out
    assert ENTITY not in out
    found = told("ledger", "show", "--entity", ENTITY)
    assert (found["releases"], found["lifetime_releases"], found["lifetime_epsilon"]) == (3, 3, 1.5)
    assert told("ledger", "show", "--entity", "another")["releases"] == 0
    totals = {"entities": 1, "releases": 3, "refusals": 0, "charged": 3, "released_entities": 3, "refused_variants": 0}
    assert told("ledger", "show") == totals
    out = good("ledger", "show")
    assert out == "3 requests answered, 0 requests refused\n3 releases of 1 entity, 3 of them charged\n"
    code, _, err = privee("ledger", "show", "--entity", "-", given="")
    assert (code, err) == (2, "privee: give the entity's id, or - and the id on standard input\n")


def test_reset_is_logged_and_keeps_the_lifetime(privee, good, told):
    good("ledger", "init")
    charge(3)
    code, _, err = privee("ledger", "reset", "--entity", ENTITY)
    assert (code, err) == (2, "privee: Missing option '--reason'. (see --help)\n")
    assert privee("ledger", "reset", "--entity", ENTITY, "--reason", " ")[0] == 2
    out = good("ledger", "reset", "--entity", "-", "--reason", "consent renewed", given=ENTITY)
    assert ": 0 releases since" in out
    assert "In its lifetime: 3 releases" in out
    (entry,) = told("ledger", "log")
    assert (entry["actor"], entry["act"], entry["reason"]) == (ACTOR, "ledger.reset", "consent renewed")
    tag = told("ledger", "show", "--entity", ENTITY)["tag"]
    assert entry["subject"].startswith(tag)
    assert ENTITY not in out + json.dumps(entry)
    code, _, err = privee("ledger", "reset", "--entity", "another customer", "--reason", "x")
    assert code == 2
    assert "nothing to reset" in err
    assert "another customer" not in err


def test_log_shows_the_newest(good, told):
    good("ledger", "init")
    for number in range(4):
        good("keys", "create", f"key {number}", "--role", "auditor")
    assert [entry["seq"] for entry in told("ledger", "log", "--last", 2)] == [3, 4]
    made = told("keys", "list")[0]["id"]
    good("keys", "revoke", made, "--reason", "[red]lost[/red]")
    out = good("ledger", "log", "--last", 1)
    assert "[red]lost" in out
    assert "key.revoke" in out
    assert "key.create" not in out
    tamper("UPDATE audit_log SET reason = char(27) || '[2Jx', at = 4611686018427387904 WHERE seq = 5")
    out = good("ledger", "log", "--last", 1)
    assert "?[2Jx" in out
    assert "\x1b" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("keys", "create", "n", "--role", "consumer"), "needs a scope"),
        (("keys", "create", "n", "--role", "root"), "'root' is not one of"),
        (("keys", "create", "n", "--role", "auditor", "--rate", "often"), "a rate must be like"),
        (("keys", "create", "a\tb", "--role", "auditor"), "name must be text on one line"),
        (("keys", "create", "n", "--role", "auditor", "--expires-days", "0"), "--expires-days"),
        (("keys", "create", "n", "--role", "auditor", "--expires-days", "99999"), "hundred years"),
        (("keys", "revoke", "00000000", "--reason", "r"), "no key with the id 00000000"),
        (("keys", "create", "n", "--role", "auditor", "--quota-releases", "many"), 'must be like "1000/day"'),
        (("keys", "create", "n", "--role", "auditor", "--quota-share", "2"), "a share must be"),
        (("keys", "quota", "00000000", "--releases", "5/day", "--reason", "r"), "no key with the id 00000000"),
        (("ledger", "reset", "--reason", "r"), "say which"),
        (("ledger", "reset", "--entity", "a", "--file", "-", "--reason", "r"), "say which"),
        (("ledger", "reset", "--entity", "a", "--since", "2026-01-01", "--reason", "r"), "say which"),
        (("ledger", "reset", "--file", "missing.txt", "--reason", "r"), "cannot read missing.txt"),
        (("ledger", "reset", "--file", "-", "--reason", "r"), "no entity to reset"),
        (("ledger", "show", "--url", "sqlite:///missing.db"), "there is no ledger missing.db"),
        (("ledger", "show", "--key", "missing.key"), "cannot read the key file missing.key"),
        (("ledger", "upgrade", "--url", "sqlite:///missing.db"), "there is no ledger missing.db"),
        (("ledger", "show", "--url", "mysql://h/d"), "SQLite or PostgreSQL"),
        (("ledger", "verify", "--expect", "3"), "expected ENTRIES:HEAD"),
    ],
)
def test_errors_are_one_line_that_helps(privee, good, arguments, words):
    good("ledger", "init")
    code, out, err = privee(*arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("privee: ")
    assert words in err


def test_a_key_file_that_others_can_read_is_refused(privee, good):
    good("ledger", "init")
    Path("ledger.key").chmod(0o644)
    code, _, err = privee("keys", "list")
    assert code == 2
    assert "everybody can read" in err


@pytest.mark.parametrize("name", ["init", "upgrade", "verify", "show", "reset", "log", "accept-loss"])
def test_ledger_help_has_an_example(good, name):
    assert "Example: privee ledger" in good("ledger", name, "--help")


def test_on_postgresql(request, privee, good, told):
    url = request.getfixturevalue("postgres_url")
    password = url.replace("postgres@", "postgres:hidden-word@")
    out = good("ledger", "init", "--url", password)
    assert "postgresql://postgres:***@" in out
    assert "hidden-word" not in out
    made = told("keys", "create", "shop", "--role", "consumer", "--scope", "risk", "--url", url)
    good("keys", "revoke", made["id"], "--reason", "r", "--url", url)
    assert [entry["act"] for entry in told("ledger", "log", "--url", url)] == ["key.create", "key.revoke"]
    assert told("ledger", "verify", "--url", url)["entries"] == 2
    good("ledger", "upgrade", "--url", url)
    code, _, err = privee("ledger", "show", "--url", password.replace("host=", "host=/nowhere"))
    assert (code, err.count("\n")) == (2, 1)
    assert "hidden-word" not in err


def test_in_a_process_of_its_own(tmp_path):
    """Exit codes and standard input as a shell sees them."""

    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PRIVEE_LEDGER")} | {"NO_COLOR": "1"}
        command = [sys.executable, "-m", "privee", *arguments]
        return subprocess.run(  # noqa: S603
            command, cwd=tmp_path, env=environment, input=given, capture_output=True, text=True, timeout=60, check=False
        )

    assert run("ledger", "init").returncode == 0
    assert run("ledger", "show", "--entity", "-", given="x\n").stdout.startswith("Entity ")
    assert run("ledger", "verify", "--expect", f"1:{'0' * 64}").returncode == 1


def test_a_loss_is_told_and_accepted(privee, good, told):
    good("ledger", "init")
    charge(1)
    copy = Path("ledger.db").read_bytes()
    charge(3)
    Path("ledger.db").write_bytes(copy)
    code, out, err = privee("keys", "create", "n", "--role", "auditor")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "lost counts, about 3 charges" in err
    code, out, err = privee("ledger", "show")  # reading goes on, with a note
    assert (code, err.startswith("Note: the ledger has lost counts")) == (0, True)
    assert "1 release of 1 entity, 1 of them charged" in out
    assert privee("ledger", "accept-loss")[0] == 2
    assert good("ledger", "accept-loss", "--spend-all", "--reason", "copy put back").startswith("Accepted and logged")
    entry = told("ledger", "log")[-1]
    assert (entry["act"], entry["actor"], entry["reason"]) == ("ledger.accept-loss", ACTOR, "copy put back")
    assert entry["details"] == {"charges_lost": 3, "commits_lost": 3, "spent": 1}
    good("keys", "create", "n", "--role", "auditor")
    code, _, err = privee("ledger", "accept-loss", "--reason", "again")
    assert (code, err) == (2, "privee: nothing is known to be lost in this ledger, so there is nothing to accept\n")


def test_many_are_reset_from_a_file_or_by_key(privee, good, told):
    good("ledger", "init")
    made = told("keys", "create", "shop", "--role", "consumer", "--scope", "*", "--quota-share", 1)
    with Ledger.open("sqlite:///ledger.db", read_key("ledger.key"), limits=Limits()) as opened:
        opened.charge(ChargeRequest(["a", "b", "c d"], Price(), made["id"], "first"))
    out = good("ledger", "reset", "--file", "-", "--reason", "consents renewed", given="a\nc d\n\n")
    assert out == "2 entities start anew.\n"
    assert [told("ledger", "show", "--entity", name)["releases"] for name in ("a", "b", "c d")] == [0, 1, 0]
    Path("ids.txt").write_text("a\nnobody\n")
    code, _, err = privee("ledger", "reset", "--file", "ids.txt", "--reason", "r")
    assert (code, err.count("\n")) == (2, 1)
    assert "1 of the entities (numbers 2)" in err
    assert told("ledger", "reset", "--of-key", made["id"], "--since", "2020-01-01", "--reason", "leaked") == {
        "entities": 3
    }
    assert privee("ledger", "reset", "--of-key", made["id"], "--since", "2100-01-01", "--reason", "leaked")[0] == 2
    acts = [(entry["act"], entry["details"]["entities"]) for entry in told("ledger", "log")[1:]]
    assert acts == [("ledger.reset-many", 2), ("ledger.reset-many", 3)]


def test_variants_are_shown_and_reset(privee, good, told):
    good("ledger", "init")
    with Ledger.open("sqlite:///ledger.db", read_key("ledger.key"), limits=Limits(variants=2)) as opened:
        outcomes = opened.charge_many(
            [ChargeRequest([ENTITY], Price(), "key", f"r{n}", questions=[b"%d" % n]) for n in range(3)]
        )
    assert isinstance(outcomes[2], RefusedError)
    assert told("ledger", "show", "--entity", ENTITY)["variants"] == 2
    shown = good("ledger", "show", "--entity", ENTITY)
    assert "Asked about in variants of the active party's columns since its last reset: 2" in shown
    assert "1 request refused, 1 of them for another variant" in good("ledger", "show")
    assert told("ledger", "reset", "--entity", ENTITY, "--reason", "table corrected")["variants"] == 0
    assert told("ledger", "log")[-1]["details"]["variants"] == 2


def test_a_ledger_of_the_version_before_is_upgraded(privee, good, told):
    """Made and used by privee with the tables of step 0003, kept as text: `spent` gave three releases, others one."""
    kept = Path(__file__).parents[1] / "_support"
    with contextlib.closing(sqlite3.connect("ledger.db")) as database:
        database.executescript((kept / "ledger_0003.sql").read_text())
    Path("ledger.db").chmod(0o600)
    Path("ledger.db-mark").write_bytes((kept / "ledger_0003.mark").read_bytes())
    Path("ledger.key").write_bytes(b"k" * 32)
    Path("ledger.key").chmod(0o600)
    code, _, err = privee("ledger", "show")
    assert (code, "run privee ledger upgrade" in err) == (2, True)
    assert told("ledger", "upgrade") == {"url": "sqlite:///ledger.db", "version": "0006"}
    assert told("ledger", "show", "--entity", "spent") == {
        "tag": "44798d94ead7",
        "releases": 3,
        "variants": 0,
        "lifetime_releases": 3,
        "lifetime_epsilon": 0.0,
    }
    totals = told("ledger", "show")
    assert (totals["releases"], totals["refusals"], totals["refused_variants"], totals["charged"]) == (4, 1, 0, 5)
    assert told("ledger", "verify")["entries"] == 2
    with Ledger.open("sqlite:///ledger.db", b"k" * 32, limits=Limits(variants=1)) as opened:

        def charge(letter: bytes) -> bool:
            ask = ChargeRequest(["spent", "other"], Price(), "key", letter.decode(), questions=[letter] * 2)
            return isinstance(opened.charge_many([ask])[0], Receipt)

        # What was asked before is not known: the next question is the first.
        assert [charge(b"x"), charge(b"y")] == [True, False]
    assert told("ledger", "show", "--entity", "spent")["variants"] == 1


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "two", "", "9" * 30])
def test_variants_are_a_number_or_none(privee, given):
    serve = ("gateway", "serve", "run", "-d", "none", "--party", "a=127.0.0.1:1")
    code, _, err = privee(*serve, "--variants", given)
    assert (code, err) == (2, "privee: --variants must be a whole number from 1 on, or none\n")
    for good in ("none", "1", "20"):
        code, _, err = privee(*serve, "--variants", good)
        assert (code, "variants" in err) == (2, False)  # there is no such run

"""`privee keys`, run as a user runs it."""

import json
import os
import pwd
import re
from pathlib import Path

import pytest

from privee.defenses.secret_keys import read_key
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.ledger import Ledger, Limits

ACTOR = f"cli:{pwd.getpwuid(os.getuid()).pw_name}"


def test_a_key_is_printed_once_and_works(privee, good, told):
    good("ledger", "init")
    options = ("--scope", "risk", "--scope", "churn", "--rate", "5/second;100/hour", "--expires-days", 90)
    code, text, err = privee("keys", "create", "shop", "--role", "consumer", *options)
    assert code == 0
    text = text.strip()
    assert re.fullmatch(r"privee_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", text)
    assert "cannot be shown again" in err
    assert text[16:] not in err
    with Ledger.open("sqlite:///ledger.db", read_key("ledger.key"), limits=Limits()) as opened:
        record = KeyStore(opened.engine, opened.chain_key, opened.now).find(text)
    assert (record.name, record.role, record.scopes) == ("shop", "consumer", ("risk", "churn"))
    assert record.rate == "5/second;100/hour"
    assert record.expires_at - record.created_at == 90 * 86400
    (listed,) = told("keys", "list")
    assert listed == record.as_dict() | {"state": "active"}
    everything = [good("keys", "list"), json.dumps(listed), good("ledger", "log"), good("ledger", "log", "--json")]
    assert not any(text[16:] in one for one in everything)
    assert all(record.id in one for one in everything)
    assert text[16:].encode() not in Path("ledger.db").read_bytes()


def test_revoke(privee, good, told):
    good("ledger", "init")
    made = told("keys", "create", "shop", "--role", "consumer", "--scope", "*")
    assert made["key"].startswith(f"privee_{made['id']}_")
    code, out, err = privee("keys", "revoke", made["key"], "--reason", "leaked")
    assert (code, out) == (2, "")
    assert made["key"][16:] not in err
    assert good("keys", "revoke", made["id"], "--reason", "leaked") == f"Key {made['id']} of shop is revoked.\n"
    assert told("keys", "list")[0]["state"] == "revoked"
    assert "revoked" in good("keys", "list")
    entry = told("ledger", "log")[-1]
    assert (entry["actor"], entry["act"], entry["subject"]) == (ACTOR, "key.revoke", made["id"])
    assert privee("keys", "revoke", made["id"], "--reason", "again")[0] == 2
    with Ledger.open("sqlite:///ledger.db", read_key("ledger.key"), limits=Limits()) as opened:
        assert KeyStore(opened.engine, opened.chain_key, opened.now).find(made["key"]) is None


@pytest.mark.parametrize("name", ["create", "list", "quota", "revoke"])
def test_keys_help_has_an_example(good, name):
    assert "Example: privee keys" in good("keys", name, "--help")


def test_quotas_are_given_shown_and_changed(good, told):
    good("ledger", "init")
    plain = told("keys", "create", "plain", "--role", "consumer", "--scope", "*")
    assert plain["quotas"] == {"releases": "1000/day", "entities": None, "share": None}
    free = told("keys", "create", "free", "--role", "consumer", "--scope", "*", "--quota-releases", "none")
    assert free["quotas"] == {"releases": None, "entities": None, "share": None}
    options = ("--quota-releases", "2/hour", "--quota-entities", "500/day", "--quota-share", 0.5)
    made = told("keys", "create", "shop", "--role", "consumer", "--scope", "*", *options)
    assert made["quotas"] == {"releases": "2/hour", "entities": "500/day", "share": 0.5}
    out = good("keys", "quota", made["id"], "--entities", "none", "--share", 1, "--reason", "trusted by now")
    assert out == f"Key {made['id']} of shop has the quotas: 2/hour releases, a share of 1.\n"
    entry = told("ledger", "log")[-1]
    assert (entry["act"], entry["actor"], entry["reason"]) == ("key.quota", ACTOR, "trusted by now")
    assert entry["details"]["after"] == {"releases": "2/hour", "entities": None, "share": 1.0}
    shown = {one["name"]: one["quotas"]["releases"] for one in told("keys", "list")}
    assert shown == {"plain": "1000/day", "free": None, "shop": "2/hour"}
    table = " ".join(good("keys", "list").split())
    assert "1000/day" in table
    assert "none" in table

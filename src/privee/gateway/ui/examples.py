"""Of every operation: who may use it, what to send and what comes back. Tests send each one to a real gateway."""

from __future__ import annotations

from typing import Any, NamedTuple

from privee.gateway.http.inference_routes import EXTENSIONS
from privee.version import __version__

EVERYONE: tuple[str, ...] = ()
ANY_KEY = ("consumer", "auditor", "administrator")
AUDIT = ("auditor", "administrator")
ADMIN = ("administrator",)
QUERY = {"inputs": [{"name": "entities", "shape": [2], "datatype": "BYTES", "data": ["17", "42"]}]}
DEFENSE = "ordered-dp:epsilon=1"
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
KEY = {
    "id": "3f0a9c2e",
    "name": "shop front",
    "role": "consumer",
    "scopes": ["*"],
    "rate": "100/minute",
    "created_at": 1767225600,
    "expires_at": None,
    "revoked_at": None,
    "quotas": {"releases": "1000/day", "entities": None, "share": 0.5},
}
SPENDING = {
    "tag": "03f9fdd16b61",
    "spent": {"releases": 3, "epsilon": 3.0},
    "share": 0.3,
    "window_ends": None,
    "lifetime_releases": 3,
    "lifetime_epsilon": 3.0,
    "variants": 1,
}


class Example(NamedTuple):
    """One call that the documentation shows.

    Attributes:
        who: roles that may make it; EVERYONE needs no key.
        answer: what comes back with status 200.
        body: what is sent.
        note: what else to know.
    """

    who: tuple[str, ...]
    answer: Any
    body: dict[str, Any] | None = None
    note: str = ""


EXAMPLES: dict[str, Example] = {
    "server_metadata": Example(
        EVERYONE,
        {"name": "privee", "version": __version__, "extensions": list(EXTENSIONS), "models": ["risk"]},
    ),
    "live": Example(EVERYONE, {"live": True}),
    "ready": Example(EVERYONE, {"ready": True}),
    "model_ready": Example(EVERYONE, {"ready": True}),
    "model_metadata": Example(
        ANY_KEY,
        {
            "name": "risk",
            "versions": ["5f2a9c0be1d47a36"],
            "platform": "privee",
            "inputs": [
                {"name": "entities", "datatype": "BYTES", "shape": [-1]},
                {"name": "columns", "datatype": "FP32", "shape": [-1, -1]},
            ],
            "outputs": [{"name": "release", "datatype": "FP64", "shape": [-1, 3]}],
            "parameters": {
                "defense": DEFENSE,
                "preserves_order": True,
                "proven": "1-differential privacy of the magnitudes, given the ranking",
                "repeatable": False,
                "counted": True,
                "variants": 1,
                "classes": '["low", "middle", "high"]',
                "utility": '{"utility": {"accuracy": 0.81, "auc": 0.93}, '
                '"own_columns": {"accuracy": 0.7, "auc": 0.84}, "majority": {"accuracy": 0.52, "auc": 0.5}}',
            },
        },
        note="The key must be for this model. `utility` was measured on test records when it was trained, with its "
        "scores: those of the joint model, of the active party's own columns alone, and of the most frequent class; "
        "it is left out where the run has none.",
    ),
    "infer": Example(
        ("consumer",),
        {
            "model_name": "risk",
            "model_version": "5f2a9c0be1d47a36",
            "parameters": {
                "defense": DEFENSE,
                "release_id": "0f8e6c1d2b3a49588776655443322110",
                "remaining": 9,
                "charged": 2,
            },
            "outputs": [
                {"name": "release", "shape": [2, 3], "datatype": "FP64", "data": [0.6, 0.3, 0.1, 0.1, 0.2, 0.7]}
            ],
        },
        body=QUERY,
        note="The key must be for this model. `remaining` is one number, the fewest releases left to any of "
        "these entities; -1 is no limit. A second input named `columns` (FP32 or FP64, one row for each entity) takes "
        "the place of the active party's stored columns.",
    ),
    "price": Example(
        ("consumer", "auditor"),
        {
            "allowed": True,
            "asked": {"releases": 1.0, "epsilon": 1.0},
            "spent": {"releases": 3.0, "epsilon": 3.0},
            "limit": {"epsilon": 10.0},
            "remaining": 7,
            "positions": [],
            "variants": {"used": 1, "allowed": 1},
        },
        body=QUERY,
        note="`positions` are the places in the request of entities that would give away too much. Whether the active "
        "party's columns are another variant shows when it is asked: that is then a 429 with the code `variants`.",
    ),
    "metrics": Example(
        AUDIT,
        "# HELP privee_releases_total Requests answered with releases.\n"
        "# TYPE privee_releases_total counter\n"
        "privee_releases_total 12.0",
    ),
    "spent": Example(AUDIT, SPENDING, body={"entity": "17"}),
    "totals": Example(
        AUDIT,
        {
            "entities": 180,
            "releases": 309,
            "refusals": 12,
            "charged": 376,
            "released_entities": 376,
            "refused_variants": 2,
            "limits": {"epsilon": 10.0, "variants": 1},
        },
    ),
    "chain": Example(AUDIT, {"ok": True, "entries": 4, "head": HASH, "first_bad": None, "words": "all 4 entries hold"}),
    "log": Example(
        AUDIT,
        [
            {
                "seq": 4,
                "at": 1767225600,
                "actor": "key:9defbb4b",
                "act": "key.revoke",
                "subject": "3f0a9c2e",
                "reason": "no longer used",
                "details": {},
                "previous": HASH[::-1],
                "hash": HASH,
            }
        ],
    ),
    "list_keys": Example(ADMIN, [KEY]),
    "create_key": Example(
        ADMIN,
        KEY | {"key": "privee_3f0a9c2e_(43 more characters)"},
        body={
            "name": "shop front",
            "role": "consumer",
            "scopes": ["*"],
            "quotas": {"releases": "1000/day", "share": 0.5},
        },
    ),
    "set_quotas": Example(
        ADMIN,
        KEY | {"quotas": {"releases": "5000/day", "entities": None, "share": 0.5}},
        body={"releases": "5000/day", "reason": "a larger batch every night"},
        note="Quotas that are not given stay as they are; `none` takes one away.",
    ),
    "revoke_key": Example(
        ADMIN,
        KEY | {"revoked_at": 1767312000},
        body={"reason": "no longer used"},
        note="`KEY_ID` is the id of the key to be revoked, as the list of keys has it.",
    ),
    "reset_entity": Example(
        ADMIN,
        SPENDING | {"spent": {"releases": 0, "epsilon": 0.0}, "share": 0.0, "variants": 0},
        body={"entity": "17", "reason": "the contract was renewed"},
    ),
    "reset_entities": Example(
        ADMIN,
        {"entities": 2},
        body={"entities": ["17", "42"], "reason": "the contracts were renewed"},
        note="Or `key_id`, and `since` in seconds since 1970: all that a key was charged for, if that is written down.",
    ),
}

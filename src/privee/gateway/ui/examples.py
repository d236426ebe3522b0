"""Of every operation: who may use it, what to send and what comes back. Tests send each one to a real gateway."""

from __future__ import annotations

from typing import Any, NamedTuple

EVERYONE: tuple[str, ...] = ()
ANY_KEY = ("consumer", "auditor", "administrator")
AUDIT = ("auditor", "administrator")
ADMIN = ("administrator",)
QUERY = {"inputs": [{"name": "entities", "shape": [2], "datatype": "BYTES", "data": ["17", "42"]}]}


class Example(NamedTuple):
    """One call.

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
    "server_metadata": Example(EVERYONE, {"name": "privee", "version": "0.1.0", "extensions": ["price"]}),
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
                "defense": "ordered-dp:epsilon=1.0",
                "preserves_order": True,
                "proven": "1-differential privacy of the magnitudes, given the ranking",
                "repeatable": False,
                "counted": True,
                "classes": "low, middle, high",
            },
        },
        note="The key must be for this model.",
    ),
    "infer": Example(
        ("consumer",),
        {
            "model_name": "risk",
            "model_version": "5f2a9c0be1d47a36",
            "parameters": {
                "defense": "ordered-dp:epsilon=1.0",
                "release_id": "0f8e6c1d2b3a49588776655443322110",
                "remaining": 9,
                "charged": 2,
            },
            "outputs": [
                {
                    "name": "release",
                    "shape": [2, 3],
                    "datatype": "FP64",
                    "data": [0.61, 0.27, 0.12, 0.08, 0.21, 0.71],
                }
            ],
        },
        body=QUERY,
        note='`remaining` is the least number of releases left to any of these entities; -1 is no limit. A second input, "columns" (FP32 or FP64), replaces the active party\'s stored columns.',
    ),
    "price": Example(
        ("consumer", "auditor"),
        {
            "allowed": True,
            "asked": {"releases": 1, "epsilon": 1.0},
            "spent": {"releases": 3, "epsilon": 3.0},
            "limit": {"epsilon": 10.0},
            "remaining": 7,
        },
        body=QUERY,
    ),
    "metrics": Example(AUDIT, '# HELP privee_releases_total Requests answered with a release.\nprivee_releases_total 12.0'),
    "spent": Example(AUDIT, {}, body={"entity": "17"}),
    "totals": Example(AUDIT, {}),
    "chain": Example(AUDIT, {"ok": True, "entries": 4, "head": "9f86d081" + 56 * "0", "first_bad": None, "words": "all 4 entries hold"}),
    "log": Example(AUDIT, []),
    "list_keys": Example(ADMIN, []),
    "create_key": Example(ADMIN, {}, body={"name": "shop front", "role": "consumer", "scopes": ["risk"], "rate": "100/minute"}),
    "revoke_key": Example(ADMIN, {}, body={"reason": "no longer used"}),
    "reset_entity": Example(ADMIN, {}, body={"entity": "17", "reason": "the contract was renewed"}),
}

"""The paper's printed numbers, which ship with the package, and the defenses of its tables with ours beside them."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import Any

from privee.paper.outcomes import Value


@functools.cache
def printed_tables() -> dict[str, Any]:
    """All tables as printed, by name."""
    text = files("privee.paper").joinpath("printed.json").read_text(encoding="utf-8")
    tables: dict[str, Any] = json.loads(text)["tables"]
    return tables


def printed(table: str, *keys: str) -> Value | None:
    """One printed number; with one standard deviation to both sides where one is printed. None where none is."""
    found: Any = printed_tables()[table]
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    if found is None:
        return None
    if not isinstance(found, dict):
        return Value(value=float(found))
    mean, deviation = float(found["mean"]), found.get("std")
    return Value(value=mean) if deviation is None else Value(value=mean, low=mean - deviation, high=mean + deviation)


AS_RELEASED = "draw_range=3,"
"""In a spec: draws up to 3, as PRIVEE-U has them in the released code; the text has draws up to 1."""
PRIVEE_U, PRIVEE_U_PLUS = "privee-u:rho=0.1", "privee-u+:rho_low=0.1,rho_high=0.9"
PRIVEE_U_AS_RELEASED = f"privee-u:{AS_RELEASED}rho=0.1"
PRIVEE_U_PLUS_TO_3 = f"privee-u+:{AS_RELEASED}rho_low=0.1,rho_high=0.9"
"""Measured and compared with nothing: in the released code its draws go up to 1."""
OURS = ("ranking-only", "ordered-dp:epsilon=32")

PRINTED_AS = {
    "none": "none",
    "rounding:digits=1": "rounding-1",
    "rounding:digits=2": "rounding-2",
    "fh-ope": "ope",
    "ope": "",
    "gaussian:epsilon=0.5": "gaussian-0.5",
    "gaussian:epsilon=0.7": "gaussian-0.7",
    PRIVEE_U: "privee-u",
    PRIVEE_U_AS_RELEASED: "privee-u",
    PRIVEE_U_PLUS: "privee-u+",
    PRIVEE_U_PLUS_TO_3: "",
    **dict.fromkeys(OURS, ""),
}
"""Under which name the paper prints each; PRIVEE-U twice, as published and with the draws of the released code.

The paper's OPE is the frequency-hiding one; Boldyreva's scheme stands beside it, with nothing printed for it.
"""


def privee_u(rho: float, *, as_released: bool = False) -> str:
    """PRIVEE-U with this rho, in the form that audits write."""
    return f"privee-u:{AS_RELEASED if as_released else ''}rho={rho:g}"

"""The defenses of the paper's tables, and ours beside them."""

from __future__ import annotations

AS_RELEASED = "draw_range=3,"
"""In a spec: draws up to 3, which explain the tables; the text has draws up to 1."""
PRIVEE_U, PRIVEE_U_PLUS = "privee-u:rho=0.1", "privee-u+:rho_low=0.1,rho_high=0.9"
PRIVEE_U_AS_RELEASED = f"privee-u:{AS_RELEASED}rho=0.1"
PRIVEE_U_PLUS_AS_RELEASED = f"privee-u+:{AS_RELEASED}rho_low=0.1,rho_high=0.9"
OURS = ("ranking-only", "ordered-dp:epsilon=32")

PRINTED_AS = {
    "none": "none",
    "rounding:digits=1": "rounding-1",
    "rounding:digits=2": "rounding-2",
    "ope": "ope",
    "gaussian:epsilon=0.5": "gaussian-0.5",
    "gaussian:epsilon=0.7": "gaussian-0.7",
    PRIVEE_U: "privee-u",
    PRIVEE_U_AS_RELEASED: "privee-u",
    PRIVEE_U_PLUS: "privee-u+",
    PRIVEE_U_PLUS_AS_RELEASED: "privee-u+",
    **dict.fromkeys(OURS, ""),
}
"""Under which name the paper prints each; PRIVEE twice, as published and with the draws that explain the tables."""


def privee_u(rho: float, *, as_released: bool = False) -> str:
    """PRIVEE-U with this rho, in the form that audits write."""
    return f"privee-u:{AS_RELEASED if as_released else ''}rho={rho:g}"

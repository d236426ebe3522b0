"""Do printed attack figures agree with ours? PRIVEE is measured in two settings, its printed figures count once."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from privee.paper.outcomes import Account, Row, Value, number
from privee.paper.printed import AS_RELEASED

CLOSE = 0.15
"""A printed figure counts as met if ours is within this share of it."""
WORDS = {
    "none": "undefended",
    "rounding": "rounding",
    "fh-ope": "OPE",
    "gaussian": "Gaussian",
    "privee-u": "PRIVEE-U",
    "privee-u+": "PRIVEE-U+",
}
LEFT_OVER = ("none", "rounding", "fh-ope")
"""Here the residual is what the optimiser left; behind the others, mostly the noise."""
Figures = dict[tuple[Any, ...], list[Row]]


def compare(rows: Sequence[Row]) -> Account:
    """How many printed figures are met by our confidence residual, and how many by the feature MSE."""
    figures, undefended = compared_figures(rows), _undefended(rows)
    if not figures:
        measured = "; ".join(filter(None, (f"{len(rows)} rows", undefended)))
        return Account(agrees=None, printed="nothing", measured=measured)
    met, as_features = (count_met(figures, name) for name in ("confidence_residual", "feature_mse"))
    said = (
        f"within {CLOSE:.0%} of our confidence residual: {met}{_by_defense(figures)}, of our feature MSE: {as_features}"
    )
    return Account(
        agrees=met == len(figures),
        printed=f"{len(figures)} figures called feature MSE",
        measured="; ".join(filter(None, (said, undefended))),
        reason="" if met == len(figures) else _reason(figures),
    )


def compared_figures(rows: Sequence[Row]) -> Figures:
    """The rows that each printed figure is compared with."""
    found: Figures = {}
    for row in rows:
        if "confidence_residual" in row.printed:
            where = {**row.where, "defense": str(row.where["defense"]).replace(AS_RELEASED, "")}
            found.setdefault(tuple(where.items()), []).append(row)
    return found


def count_met(figures: Mapping[Any, Sequence[Row]], name: str) -> int:
    """How many printed figures are near ours, in one setting or the other."""
    return sum(any(_near(row, name) for row in rows) for rows in figures.values())


def _near(row: Row, name: str) -> bool:
    ours, theirs = row.measured.get(name), row.printed["confidence_residual"].value
    return ours is not None and abs(ours.value - theirs) <= CLOSE * abs(theirs)


def _by_defense(figures: Figures) -> str:
    """What is met, of how many."""
    groups: dict[str, list[Row]] = {}
    for rows in figures.values():
        for row in rows:
            groups.setdefault(_words(row, both=len(rows) > 1), []).append(row)
    counts = {name: sum(_near(row, "confidence_residual") for row in rows) for name, rows in groups.items()}
    met = [f"{name} {count} of {len(groups[name])}" for name, count in counts.items() if count]
    return f" ({', '.join(met)}{'' if all(counts.values()) else '; no others'})" if met else ""


def _words(row: Row, *, both: bool) -> str:
    name = WORDS.get(_kind(row), _kind(row))
    if not both:
        return name
    return f"{name} as {'released' if AS_RELEASED in str(row.where['defense']) else 'published'}"


def _kind(row: Row) -> str:
    return str(row.where["defense"]).split(":")[0]


def _reason(figures: Figures) -> str:
    """What most likely makes the difference, by the kind of defense."""
    rows = [rows[0] for rows in figures.values() if "confidence_residual" in rows[0].measured]
    left = [row for row in rows if _kind(row) in LEFT_OVER]
    parts = []
    if left:
        names = ", ".join(WORDS[kind] for kind in dict.fromkeys(map(_kind, left)))
        times = statistics.median(_times(row) for row in left)
        parts.append(f"{names}: the residual is what the optimiser left over, ours {times:.2g} times theirs (median)")
    if any(_kind(row).startswith("privee") for row in rows):
        parts.append("PRIVEE's depend on the range of its draws, on a schedule and on how sure the model is")
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def _times(row: Row) -> float:
    return row.measured["confidence_residual"].value / row.printed["confidence_residual"].value


def _undefended(rows: Sequence[Row]) -> str:
    """What the attack is worth where nothing stands in its way."""
    left = [
        row.measured["guess_normalised"].value
        for row in rows
        if (row.where.get("defense"), row.where.get("attacker")) == ("none", "naive")
        and "guess_normalised" in row.measured
    ]
    if not left or min(left) < 1:
        return ""
    times = " to ".join(dict.fromkeys(number(Value(value=float(f"{most(left):.2g}"))) for most in (min, max)))
    return f"undefended it errs {times} times as much as a guess"

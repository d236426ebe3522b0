"""Rows of an outcome as Markdown tables: attacks by defense, curves by query, anything else as it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from privee.paper.outcomes import Outcome, Row, Value, cell, number, plain_value, with_band

Numbered = tuple[int, Row]
FEW = 8
"""Fewer defenses than this do not get a table of their own."""
LONG = 30
"""Tables longer than this are folded away."""
ATTACKERS = ("naive", "adaptive")
ATTACK_COLUMNS = (
    "defense",
    "printed",
    "residual, naive",
    "feature MSE, naive",
    "adaptive",
    "over a guess, naive",
    "adaptive",
    "rows",
)


def tables(outcome: Outcome, link: str) -> str:
    """All tables of an outcome; `link` is where its JSON file lies, seen from the page."""
    rows = list(enumerate(outcome.rows))
    if rows and all({"defense", "attacker"} <= set(row.where) for _, row in rows):
        return _attack_tables(rows, link)
    if any("queries" in row.where for _, row in rows):
        return _curve_table(rows, link)
    return _plain_table(rows, link)


def markdown(head: Sequence[str], body: Iterable[Sequence[str]], numbers_from: int, *, fold: bool = True) -> str:
    """A table whose columns from `numbers_from` on are set to the right; folded away if it is long."""
    rows = [f"| {' | '.join(map(cell, row))} |" for row in body]
    rule = "".join("|---" if k < numbers_from else "|--:" for k in range(len(head))) + "|"
    text = "\n".join([f"| {' | '.join(map(cell, head))} |", rule, *rows])
    if len(rows) <= LONG or not fold:
        return text
    return f"<details><summary>All {len(rows)} rows</summary>\n\n{text}\n\n</details>"


def _attack_tables(rows: Sequence[Numbered], link: str) -> str:
    """One table for each model and strength, or one for all where each has few defenses."""
    groups = _grouped(rows, [key for key in rows[0][1].where if key not in {"defense", "attacker"}])
    if max(len(_grouped(some, ["defense"])) for some in groups.values()) < FEW:
        keys = list(rows[0][1].where)[: len(next(iter(groups)))]
        body = [
            [*map(plain_value, where), *line] for where, some in groups.items() for line in _attack_lines(some, link)
        ]
        return markdown([*keys, *ATTACK_COLUMNS], body, len(keys) + 1)
    return "\n\n".join(
        f"*{_words(some[0][1], where)}*\n\n{markdown(ATTACK_COLUMNS, _attack_lines(some, link), 1)}"
        for where, some in groups.items()
    )


def _attack_lines(rows: Sequence[Numbered], link: str) -> list[list[str]]:
    """Both attackers of a defense in one line."""
    return [_attack_line(spec, some, link) for (spec,), some in _grouped(rows, ["defense"]).items()]


def _attack_line(spec: str, rows: Sequence[Numbered], link: str) -> list[str]:
    by = {row.where["attacker"]: row for _, row in rows}
    printed = next((row.printed["confidence_residual"] for row in by.values() if row.printed), None)

    def shown(who: str, figure: str) -> str:
        return with_band(by[who].measured.get(figure)) if who in by else "-"

    features, over = ([shown(who, name) for who in ATTACKERS] for name in ("feature_mse", "guess_normalised"))
    notes = dict.fromkeys(row.note for row in by.values() if row.note)
    return [
        "; ".join([f"`{spec}`", *notes]),
        with_band(printed),
        shown("naive", "confidence_residual"),
        *features,
        *over,
        link_to([k for k, _ in rows], link),
    ]


def _curve_table(rows: Sequence[Numbered], link: str) -> str:
    """A line for each curve and estimator, a column for each number of queries, theory below what it speaks of."""
    keys = [key for key in rows[0][1].where if key != "queries"]
    queries = sorted({row.where["queries"] for _, row in rows})
    names = [n for n in dict.fromkeys(n for _, row in rows for n in row.measured) if n != "chance_of_miss"]
    body = []
    for where, some in _grouped(rows, keys).items():
        at = {row.where["queries"]: row for _, row in some}
        for side, name in [("measured", n) for n in names] + [("printed", n) for n in names]:
            values = [getattr(at[q], side).get(name) if q in at else None for q in queries]
            if any(value is not None for value in values):
                what = name if side == "measured" else f"{name}, printed"
                found = [number(value) if value else "" for value in values]
                body.append([*map(plain_value, where), what, *found, link_to([k for k, _ in some], link)])
    return markdown([*keys, "figure", *(f"{q:,}" for q in queries), "rows"], body, len(keys) + 1)


def _plain_table(rows: Sequence[Numbered], link: str) -> str:
    keys = list(dict.fromkeys(key for _, row in rows for key in row.where))
    measured, printed = (
        list(dict.fromkeys(name for _, row in rows for name in getattr(row, side))) for side in ("measured", "printed")
    )
    noted = any(row.note for _, row in rows)
    head = [*keys, *measured, *(f"{name}, printed" for name in printed), *(["note"] if noted else []), "rows"]
    body = [
        [
            *(plain_value(row.where.get(key, "")) for key in keys),
            *_values(row.measured.get(name) for name in measured),
            *_values(row.printed.get(name) for name in printed),
            *([row.note] if noted else []),
            link_to([k], link),
        ]
        for k, row in rows
    ]
    return markdown([name.replace("_", " ") for name in head], body, len(keys))


def _values(found: Iterable[Value | None]) -> list[str]:
    return [with_band(value) for value in found]


def _grouped(rows: Sequence[Numbered], keys: Sequence[str]) -> dict[tuple[Any, ...], list[Numbered]]:
    found: dict[tuple[Any, ...], list[Numbered]] = {}
    for k, row in rows:
        found.setdefault(tuple(row.where[key] for key in keys), []).append((k, row))
    return found


def _words(row: Row, where: tuple[Any, ...]) -> str:
    return ", ".join(f"{key} {plain_value(value)}" for key, value in zip(row.where, where, strict=False))


def link_to(numbers: Sequence[int], link: str) -> str:
    """Which rows of the JSON file these are, counted from zero."""
    first, last = numbers[0], numbers[-1]
    text = f"row {first}" if first == last else f"rows {first} to {last}"
    return f"[{text}]({link})"

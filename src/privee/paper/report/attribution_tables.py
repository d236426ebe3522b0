"""The attribution as Markdown: parts, counts by table, and every printed figure with what was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from privee.paper.outcomes import number
from privee.paper.released.attribution import (
    Attributed,
    best_single,
    count_met,
    met_by_chance,
    single,
    tried_with,
    without,
)
from privee.paper.released.page_tables import InTables, met_in_tables
from privee.paper.released.parts import CONJECTURES, PARTS, PROFILE, written
from privee.paper.released.scenes import Figure
from privee.paper.report.attribution_notes import how_to_read
from privee.paper.report.markdown_tables import link_to, markdown

ABSENT = {True: "no parts; the page's table", False: "**none**"}
UNTRIED = {True: "not tried; the page's table", False: "not tried"}
SWITCHED_ON = (
    "Each part is switched on alone, or with others, by its name: `privee paper run as-released --full --only mnist "
    "--as-released double-softmax`; on small digits, without a dataset file, `privee paper run as-released "
    "--as-released double-softmax`. In place of names, `profile` is all that were read in the code."
)
CONJECTURE = " (a conjecture of ours, not read in the code)"
COUNTED = (
    "figures",
    "as published",
    "all parts",
    "one combination",
    "any combination",
    "by chance",
    "with conjectures",
    "page's tables",
    "either",
    "either, by chance",
    "not met",
    "too large",
)
Marks = tuple[InTables, AbstractSet[Figure]]
"""What the page's tables have for each figure, and figures that no residual can reach."""


def attribution_tables(
    found: Sequence[Attributed], link: str, in_tables: InTables, too_large: AbstractSet[Figure]
) -> str:
    """All of it: counts first, then the parts, then every figure.

    Args:
        found: printed figures with what was tried.
        link: where the JSON file lies, seen from the page.
        in_tables: our residuals in the page's own tables.
        too_large: figures that no residual can reach.
    """
    table = markdown(
        ("part", "where it acts", "what it does"),
        [[f"`{part.name}`", part.stage, f"{part.says}{'' if part.read else CONJECTURE}"] for part in PARTS.values()],
        3,
    )
    parts = f"{SWITCHED_ON}\n\n{table}"
    if not found:
        return parts
    marks = (in_tables, too_large)
    return "\n\n".join(
        [
            _by(found, marks, "table", lambda one: one.figure.table),
            _by(found, marks, "defense", lambda one: one.figure.defense),
            how_to_read(found),
            parts,
            _rows(found, link, met_in_tables(in_tables)),
        ]
    )


def _by(found: Sequence[Attributed], marks: Marks, head: str, name: Callable[[Attributed], str]) -> str:
    groups: dict[str, list[Attributed]] = {"all": list(found)}
    for one in found:
        groups.setdefault(name(one), []).append(one)
    body = [[group, *_counts(some, marks)] for group, some in groups.items()]
    return markdown((head, *COUNTED), body, 1)


def _counts(some: Sequence[Attributed], marks: Marks) -> list[str]:
    tables, too_large = marks
    in_tables = met_in_tables(tables)
    read = [without(one, CONJECTURES) for one in some]
    left = [one for one in read if not one.met and one.figure not in in_tables]
    plain, tried = (count(read, frozenset[str]()) for count in (single, tried_with))
    return [
        str(len(some)),
        f"{plain} of {tried}" if tried else "-",
        str(single(read, PROFILE)),
        str(best_single(read)[1]),
        str(count_met(read)),
        f"{met_by_chance(read):.1f}",
        str(count_met(some)),
        str(sum(one.figure in in_tables for one in some)),
        str(len(some) - len(left)),
        f"{met_by_chance(read, tables):.1f}",
        str(len(left)),
        str(sum(one.figure in too_large for one in left)),
    ]


def _rows(found: Sequence[Attributed], link: str, in_tables: AbstractSet[Figure]) -> str:
    head = (
        "table",
        "where",
        "defense",
        "printed",
        "met by (fewest parts first)",
        "nearest",
        "all that was tried",
        "rows",
    )
    return markdown(head, [_line(k, one, link, one.figure in in_tables) for k, one in enumerate(found)], 8)


def _line(k: int, one: Attributed, link: str, in_tables: bool) -> list[str]:
    figure, scene = one.figure, one.figure.scene
    where = f"{scene.dataset}, {scene.known} % known" + (f", {scene.parties} parties" if scene.parties > 2 else "")
    rho = f", rho {figure.rho:g}" if figure.table.endswith("rho") and figure.defense != "none" else ""
    nearest = "-" if one.nearest is None else f"{number(one.tried[one.nearest])} ({written(one.nearest)})"
    return [
        figure.table,
        where,
        f"{figure.defense}{rho}",
        f"{figure.printed:.4g}",
        written(one.met[0]) if one.met else ABSENT[in_tables] if one.tried else UNTRIED[in_tables],
        nearest,
        "; ".join(f"{written(parts)}: {number(value)}" for parts, value in one.tried.items()),
        link_to([k], link),
    ]

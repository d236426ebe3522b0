"""The attribution as Markdown: parts, counts by table, and every printed figure with what was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from privee.paper.measure.agreement import CLOSE
from privee.paper.outcomes import number
from privee.paper.released.attribution import Attributed, best_single, count_met, met_by_chance, single, without
from privee.paper.released.parts import CONJECTURES, PARTS, PROFILE, written
from privee.paper.released.scenes import Figure
from privee.paper.report.markdown_tables import link_to, markdown

ABSENT = {True: "no parts; the page's table", False: "**none**"}
UNTRIED = {True: "not tried; the page's table", False: "not tried"}
CONJECTURE = " (a conjecture of ours, not read in the code)"


def attribution_tables(found: Sequence[Attributed], link: str, in_tables: AbstractSet[Figure]) -> str:
    """All of it.

    Args:
        found: printed figures with what was tried.
        link: where the JSON file lies, seen from the page.
        in_tables: figures that the page's own tables meet.
    """
    parts = markdown(
        ("part", "where it acts", "what it does"),
        [[f"`{part.name}`", part.stage, f"{part.says}{'' if part.read else CONJECTURE}"] for part in PARTS.values()],
        3,
    )
    if not found:
        return parts
    return "\n\n".join(
        [
            parts,
            _by(found, in_tables, "table", lambda one: one.figure.table),
            _by(found, in_tables, "defense", lambda one: one.figure.defense),
            _how_to_read(found),
            _rows(found, link, in_tables),
        ]
    )


def _by(
    found: Sequence[Attributed], in_tables: AbstractSet[Figure], head: str, name: Callable[[Attributed], str]
) -> str:
    groups: dict[str, list[Attributed]] = {"all": list(found)}
    for one in found:
        groups.setdefault(name(one), []).append(one)
    body = [[group, *_counts(some, in_tables)] for group, some in groups.items()]
    columns = (
        head,
        "figures",
        "as published",
        "all parts on",
        "best single combination",
        "any combination",
        "by chance",
        "with conjectures",
        "in the page's tables",
        "by parts or tables",
    )
    return markdown(columns, body, 1)


def _counts(some: Sequence[Attributed], in_tables: AbstractSet[Figure]) -> list[str]:
    read = [without(one, CONJECTURES) for one in some]
    parts, most = best_single(read)
    return [
        str(len(some)),
        str(single(read, frozenset())),
        str(single(read, PROFILE)),
        f"{most} ({written(parts)})",
        str(count_met(read)),
        f"{met_by_chance(read):.1f}",
        str(count_met(some)),
        str(sum(one.figure in in_tables for one in some)),
        str(sum(one.figure in in_tables or bool(one.met) for one in read)),
    ]


def _how_to_read(found: Sequence[Attributed]) -> str:
    tried = sum(len(one.tried) for one in found)
    played = sum(bool(one.tried) for one in found)
    return (
        f"A figure is met if ours lies within {CLOSE:.0%} of it. Each figure is compared with combinations of those "
        f"parts alone that can touch it, {tried / max(1, played):.1f} on average "
        f"for the {played} figures that were played; no part has a setting that was fitted to "
        "a printed number. *By chance* is the mean count after shuffling the printed values among figures of the same "
        "attack and defense; these are of one size, so a high number there says that the size of the figures is "
        "explained and the differences between datasets and strengths are not. The single combinations involve one "
        "choice for all rows, or none. *In the page's tables* counts figures that the tables of this page meet as "
        "published or with draws to 3, on models of their own; OPE's are not compared there. One choice was made with "
        "figures in view: for more than two parties `softmax-again` is not played, and `double-softmax` is, after a "
        "look at those of five."
    )


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

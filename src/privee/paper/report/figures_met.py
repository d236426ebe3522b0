"""The first line on attacks: how many printed figures are met, in which way, and how many would be by chance."""

from __future__ import annotations

from collections.abc import Mapping

from privee.paper.measure.agreement import CLOSE
from privee.paper.outcomes import Outcome
from privee.paper.released.attribution import best_single, met_by_chance, single, tried_with, without
from privee.paper.released.kept_rows import attributed
from privee.paper.released.page_tables import in_tables, met_in_tables, out_of_reach
from privee.paper.released.parts import CONJECTURES, PROFILE
from privee.paper.released.scenes import figures


def figures_met(outcomes: Mapping[str, Outcome]) -> str:
    """Of the printed figures of attacks: in the tables, with parts of the released code, and by chance."""
    held = outcomes.get("as-released")
    if held is None or held.account.agrees is None:
        return ""
    every, tables = figures(), in_tables(outcomes)
    read = [without(one, CONJECTURES) for one in attributed(held.rows)]
    met, parts = met_in_tables(tables), {one.figure for one in read if one.met}
    left = set(every) - parts - met
    untried = sum(not one.tried and one.figure not in met for one in read)
    plain, tried = (count(read, frozenset[str]()) for count in (single, tried_with))
    best, every_part = best_single(read)[1], single(read, PROFILE)
    return (
        f"\n\n**Attacks: {len(parts | met)} of {len(every)} printed figures are met within {CLOSE:.0%}**, {len(met)} "
        f"of them in the tables of this page, {len(parts)} by the [released code re-enacted](#as-released) with some "
        "of its parts on, whichever combination comes nearest. **Shuffled among rows of their kind, "
        f"{met_by_chance(read, tables):.0f} printed figures would be met in the same way**, {met_by_chance(read):.0f} "
        "of them by parts: what is met is mostly the size of the figures, hardly the differences between datasets and "
        f"strengths. One combination for all rows meets {best} at most, all parts together {every_part}, none {plain} "
        f"of the {tried} that were played so. {len(left)} figures are not met, of which {len(left & out_of_reach())} "
        f"are larger than any residual can be{f' and {untried} were not tried with parts' if untried else ''}."
    )

"""OPE beside its released form: the released code hands out ranks in place of ciphertexts."""

from __future__ import annotations

from collections.abc import Mapping

from privee.paper.outcomes import Outcome, number
from privee.paper.released.attribution import Attributed, near, without
from privee.paper.released.kept_rows import attributed
from privee.paper.released.page_tables import in_tables
from privee.paper.released.parts import CONJECTURES, Chosen, written
from privee.paper.report.markdown_tables import markdown, tables

PART = "rank-surrogate"


def with_surrogate(outcome: Outcome, link: str, others: Mapping[str, Outcome]) -> str | None:
    """A result's tables, and below them OPE in both forms; None where nothing was re-enacted."""
    held = others.get("as-released")
    ope = [] if held is None else [one for one in attributed(held.rows) if _is_of(one, outcome.name)]
    if not ope:
        return None
    here = in_tables({outcome.name: outcome})
    head = ("where", "OPE, printed", "frequency-hiding, in this table", "rank surrogate", "with parts", "within 15 %")
    body = []
    for one in ope:
        parts = _fewest(one)
        value, scene = one.tried[parts], one.figure.scene
        where = f"{scene.dataset}, {scene.known} % known" + (f", {scene.parties} parties" if scene.parties > 2 else "")
        mine = ", ".join(f"{ours:.3g}" for ours in here.get(one.figure, ())) or "-"
        met = "yes" if near(value.value, one.figure.printed) else "no"
        body.append([where, f"{one.figure.printed:.3g}", mine, number(value), f"`{written(parts)}`", met])
    said = (
        "**OPE's released form** is the rank surrogate, (K - j) / K for the class at rank j, in place of ciphertexts. "
        "It is played under [as-released](#as-released), on models of their own; here with the fewest parts beside it:"
    )
    return "\n\n".join([tables(outcome, link), said, markdown(head, body, len(head))])


def _is_of(one: Attributed, table: str) -> bool:
    return one.figure.table == table and one.figure.defense == "ope" and any(PART in parts for parts in one.tried)


def _fewest(one: Attributed) -> Chosen:
    """The combination with the surrogate that has the fewest parts, none of them a conjecture."""
    read = without(one, CONJECTURES).tried
    return min((parts for parts in read if PART in parts), key=len)

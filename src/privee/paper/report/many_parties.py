"""What PRIVEE-U adds to GRNA's figures on many parties: their undefended level is not explained, the rest may be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from privee.paper.measure.agreement import CLOSE
from privee.paper.measure.contradictions import largest_undefended
from privee.paper.outcomes import Value, number
from privee.paper.printed import printed_tables
from privee.paper.released.attribution import Attributed, near, without
from privee.paper.released.parts import CONJECTURES, Chosen, chosen, written
from privee.paper.released.scenes import GRNA_CLIENTS, GRNA_RHO
from privee.paper.report.markdown_tables import markdown

CLASSES = 10
BASES: tuple[Chosen, ...] = tuple(map(chosen, ("six-epochs", "six-epochs,logits-matched")))
MORE = chosen("draws-to-3")
TABLES = ("grna-mnist-clients", "grna-mnist-rho")


class Pair(NamedTuple):
    """A printed figure behind PRIVEE-U and the undefended one beside it, with what was tried for both."""

    protected: Attributed
    undefended: Attributed
    printed_without: float

    @property
    def added(self) -> float:
        """What PRIVEE-U adds in print."""
        return self.protected.figure.printed - self.printed_without

    def added_by(self, base: Chosen) -> float | None:
        """What it adds here with these parts, and draws to 3."""
        ours, none = self.protected.tried.get(base | MORE), self.undefended.tried.get(base)
        return None if ours is None or none is None else ours.value - none.value


def differences(found: Sequence[Attributed]) -> str:
    """A paragraph and a table; nothing if no such figure was played."""
    pairs = list(_pairs(found))
    if not pairs:
        return ""
    undefended = [one for one in found if one.figure.table in TABLES and one.figure.defense == "none"]
    met = sum(bool(without(one, CONJECTURES).met) for one in undefended)
    large = sum(one.figure.printed > largest_undefended(CLASSES) for one in undefended)
    counts = {written(base | MORE): sum(_is_near(pair, base) for pair in pairs) for base in BASES}
    said = " and ".join(f"{count} with {name}" for name, count in counts.items())
    return (
        f"**GRNA on many parties.** Of its {len(undefended)} undefended figures {met} are met by parts that were read: "
        f"{large} are above {largest_undefended(CLASSES):g}, the largest residual of scores, and raw logits matched "
        "with scores leave less than what is printed. What PRIVEE-U adds to them in print can be compared all the "
        f"same (counted nowhere else): within {CLOSE:.0%} are {said}, of {len(pairs)}.\n\n" + _table(pairs)
    )


def _pairs(found: Sequence[Attributed]) -> Iterator[Pair]:
    undefended = {(one.figure.table, one.figure.scene): one for one in found if one.figure.defense == "none"}
    for one in found:
        place = one.figure.table, one.figure.scene
        if one.figure.table in TABLES and one.figure.defense == "privee-u" and place in undefended:
            yield Pair(one, undefended[place], _printed_without(one))


def _printed_without(one: Attributed) -> float:
    """In its own line of the table, also where that of rho = 0.1 stands for all."""
    tables: Mapping[str, Mapping[str, Mapping[str, float]]] = printed_tables()
    if one.figure.table == "grna-mnist-rho":
        return float(tables[GRNA_RHO][f"{one.figure.rho:.2f}"]["mse_without"])
    return float(tables[GRNA_CLIENTS][str(one.figure.scene.parties)]["mse_without"])


def _is_near(pair: Pair, base: Chosen) -> bool:
    ours = pair.added_by(base)
    return ours is not None and near(ours, pair.added)


def _table(pairs: Sequence[Pair]) -> str:
    head = ("table", "where", "without, printed", "with, printed", "added, printed")
    body = [
        [
            pair.protected.figure.table,
            f"{pair.protected.figure.scene.parties} parties, rho {pair.protected.figure.rho:g}",
            f"{pair.printed_without:.3g}",
            f"{pair.protected.figure.printed:.3g}",
            f"{pair.added:.3g}",
            *(_number(pair.added_by(base)) for base in BASES),
        ]
        for pair in pairs
    ]
    return markdown((*head, *(f"added, {written(base | MORE)}" for base in BASES)), body, 2)


def _number(value: float | None) -> str:
    return number(None if value is None else Value(value=value))

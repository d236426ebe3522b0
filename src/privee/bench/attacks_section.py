"""The attacks of a leaderboard: what each leaves, and of how many rows it is the best."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from privee.bench.board import Board
from privee.bench.parts import SENT
from privee.bench.rows import Row
from privee.bench.tried import Tried, left_of
from privee.paper.report.markdown_tables import markdown

WAYS = ("once", "ten times", "5 chosen", "what is sent")
WORDS = """\
## Every attack

Of rows that come with what each of their attacks found; files of earlier versions have none. Left: as above, each
attack by itself, without the choice to guess instead, so more than 1 is worse than a guess. Best: of how many rows that
are asked in this way no other attack leaves less, on average over columns, and in the column told best; only where it
beats the guess."""
UNABLE = "Possible on none of these rows, such as attacks that are made for models without gradients:"


def attacks_section(board: Board) -> str:
    """A table with a line for each attack and way of asking; nothing if no row says what its attacks found."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    best, in_column = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for row in board.usable:
        for way, tried in ways_of(row):
            for one in tried:
                if one.left is not None:
                    found[way, one.attack].append(one.left)
            left = left_of(tried)
            if left is not None:
                best[way, left.attack] += 1
                in_column[way, left.column_attack] += 1
    if not found:
        return ""
    never = dict.fromkeys(
        one.attack for row in board.usable for _, tried in ways_of(row) for one in tried if one.left is None
    )
    able = {attack for _, attack in found}
    unable = ", ".join(f"`{attack}`" for attack in never if attack not in able)
    body = [
        [
            way,
            f"`{attack}`",
            str(len(shares)),
            *(f"{figure:.2f}" for figure in (np.median(shares), min(shares))),
            *(str(counts[way, attack]) for counts in (best, in_column)),
        ]
        for (way, attack), shares in sorted(found.items(), key=_order)
    ]
    head = ("asked", "attack", "rows", "left, median", "left, least", "best on average", "best in a column")
    table = markdown(head, body, 2, fold=False)
    return "\n\n".join([WORDS, table, *([f"{UNABLE} {unable}."] if unable else [])])


def _order(item: tuple[tuple[str, str], list[float]]) -> tuple[int, float]:
    (way, _), shares = item
    return WAYS.index(way), float(np.median(shares))


def ways_of(row: Row) -> Iterator[tuple[str, list[Tried]]]:
    """The attacks of a row by the way they ask."""
    tried = [one for what, part in row.parts.items() if what != SENT for one in part.tried]
    once = [one for one in tried if one.honest and one.queries == 1]
    ten = [one for one in tried if one.honest and one.queries > 1]
    sent = list(row.parts[SENT].tried) if SENT in row.parts else []
    yield from zip(WAYS, (once, ten, [one for one in tried if one.five], sent), strict=True)

"""At equal epsilon: who moves scores least, and where it is not Ordered-DP. All of it follows from the rows."""

from __future__ import annotations

from collections.abc import Sequence

from privee.bench.board import Board
from privee.bench.summary import OURS, Match, matches_of
from privee.paper.report.markdown_tables import markdown

AS_RELEASED = (
    "All of it is of releases as they are handed out, and of scores of models, mostly sure of a class; on flat score "
    "vectors the comparison can turn. Reading a release first costs no epsilon, and some need it more than others: "
    "those of `op-epsilon` and `gaussian` do not sum to one, and only the tail of `ordered-dp` is made for models' "
    "scores. Read in the same way, they are nearer to each other (`benchmarks/rivals.py`; privee's page on defenses)."
)


def section(board: Board) -> str:
    """The section of the page."""
    matches = matches_of(board)
    if not matches:
        return f"## At equal epsilon\n\nNo other defense was measured at an epsilon of `{OURS}`."
    rivals = list(dict.fromkeys(name for match in matches for name in match.moved if name != OURS))
    words = (
        "Mean L1 moved by defenses with the same proven epsilon, on every model. The same number need not be the same "
        f"promise: {'; '.join(_promise(name, matches) for name in (OURS, *rivals))}."
    )
    verdicts = [AS_RELEASED, *(verdict(rival, matches) for rival in rivals)]
    return "\n\n".join(["## At equal epsilon", words, _table(matches, rivals), *verdicts])


def verdict(rival: str, matches: Sequence[Match]) -> str:
    """Where ours moves scores less than this one, and where not."""
    both = [match for match in matches if rival in match.moved]
    lost = [match for match in both if match.moved[OURS] >= match.moved[rival]]
    won = f"Against `{rival}`, `{OURS}` moves scores less in {len(both) - len(lost)} of {len(both)} comparisons"
    if not lost:
        return f"{won}: everywhere."
    where = "; ".join(
        f"epsilon {match.epsilon:g} on {match.dataset}, {match.model} ({match.moved[OURS]:.3f} against "
        f"{match.moved[rival]:.3f})"
        for match in lost
    )
    return f"{won}. **Not** at {where}."


def _promise(name: str, matches: Sequence[Match]) -> str:
    """Over which score vectors a defense proves its epsilon; or that it proves none, and was set to it."""
    mine = [match.proven[name] for match in matches if name in match.proven]
    if all(proven is None for proven, _ in mine):
        return f"`{name}` proves none, and was set to it"
    same = next(same for proven, same in mine if proven is not None)
    return f"`{name}` speaks of {same or 'all score vectors'}"


def _table(matches: Sequence[Match], rivals: Sequence[str]) -> str:
    columns = (OURS, *rivals)
    body = []
    for match in matches:
        least = min(match.moved.values())
        cells = ["" if name not in match.moved else f"{match.moved[name]:.3f}" for name in columns]
        bold = [
            f"**{text}**" if match.moved.get(name) == least else text for name, text in zip(columns, cells, strict=True)
        ]
        body.append([f"{match.epsilon:g}", match.dataset, match.model, *bold])
    return markdown(("epsilon", "dataset", "model", *(f"`{name}`" for name in columns)), body, 3, fold=False)

"""What a leaderboard's page says beside its tables: what an epsilon speaks of, what is not in it, how it was made."""

from __future__ import annotations

import math

from privee.audit.grid import ASKED_RECORDS
from privee.bench.board import Board
from privee.bench.cases import PASSIVE_COLUMNS

NEXT_TO_NOTHING, TOLD = 1.0, 0.9
"""An epsilon, and less left than this where it seems told in spite of it."""
ANY_TWO = "any two score vectors"


def epsilons(board: Board) -> str:
    """Between which score vectors each epsilon holds: 0 tells no more than what those have in common."""
    found: dict[str, dict[str, None]] = {}
    for row in board.usable:
        if not row.protection and row.worth.get("epsilon") is not None:
            found.setdefault(row.worth["same"] or "all score vectors", {})[row.defense.partition(":")[0]] = None
    if not found:
        return ""
    words = (
        "Epsilon bounds how well one answer tells two score vectors apart, and that between these alone. What they "
        "have in common is told: an epsilon of 0 does not mean that nothing is."
    )
    told = (f"- {', '.join(f'`{name}`' for name in names)}: {same}" for same, names in found.items())
    return "\n".join([words, "", *told])


def weak_guesses(board: Board) -> str:
    """Columns that seem told where next to nothing can be: it is their guess that is weak there."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in board.usable:
        hidden = (row.worth.get("epsilon") or math.inf) <= NEXT_TO_NOTHING and row.worth.get("same") == ANY_TWO
        for left in (row.once, row.chosen) if hidden and not row.protection else ():
            if left is not None and left.column and left.worst < TOLD:
                found.setdefault(row.dataset, {}).setdefault(left.column, []).append(left.worst)
    if not found:
        return ""
    told = (
        f"`{column}` of {dataset} ({min(left):.2f} to {max(left):.2f} left there)"
        for dataset, columns in found.items()
        for column, left in columns.items()
    )
    return (
        f"**Where the guess is weak.** An epsilon of {NEXT_TO_NOTHING:g} between any two score vectors lets next to "
        "nothing through, and five answers not much. A column that seems told behind it is one that an attack guesses "
        f"better than the guesses it is measured against, from own columns alone: {', '.join(told)}. Of these, every "
        "line says more told than the release tells, and the worst model of *column* is mostly theirs."
    )


def not_in_it(board: Board) -> str:
    """What is planned and not measured, what was not tried, and what to mind."""
    about, size = board.about, board.about["size"]
    waiting = about["done"]["planned"] - about["done"]["measured"]
    left_out = ", ".join(f"`{name}`" for name in about["left_out"]) or "none"
    slow = "" if size["slow"] else " Slow attacks and slow defenses are left out of a quick one."
    unfinished = f"{waiting:,} of {about['done']['planned']:,} planned cells are not measured yet{_waiting(board)}. "
    if about["done"].get("untrained"):
        unfinished += f"Models that could not be trained: {'; '.join(about['done']['untrained'])}. "
    passive = "; ".join(f"of {name}: {', '.join(columns)}" for name, columns in PASSIVE_COLUMNS.items())
    return (
        f"## What is not in it\n\n{unfinished if waiting else ''}Attacks that are registered and not tried: "
        f"{left_out}.{slow} Two parties, of which the passive one has half of the columns ({passive}); one trained "
        "model for each dataset and kind. Worst columns and best attacks are picked after the fact, so small "
        "differences between lines are within chance. Whoever asks without a limit learns more than five questions "
        "tell, except of sealed parties."
    )


def made(board: Board) -> str:
    """The command, the machine, the sizes and the attacks by part."""
    about, size, done = board.about, board.about["size"], board.about["done"]
    attacks = "; ".join(f"{part}: {', '.join(f'`{name}`' for name in some)}" for part, some in about["attacks"].items())
    taken = about.get("from")
    came = (
        f" {taken['rows']:,} of {len(board.rows):,} rows came, all or in part, from {taken['file']}." if taken else ""
    )
    again = about["command"].partition(" --from ")[0]  # which stands last
    return (
        f"## How it was made\n\n`{about['command']} --page FILE`; privee {about['privee']}, "
        f"{about['date']}, {about['machine']['cores']} cores ({about['machine']['system']}); the last run took "
        f"{done['seconds']:,g} s beside what was kept.{came} Size {size['name']}: {size['seeds']} "
        f"seed{'s' * (size['seeds'] > 1)}, {size['records']} records and {size['auxiliary_rows']} rows that the "
        "attacker knows (chosen columns: "
        f"{ASKED_RECORDS} records at most; codes: as an audit has it), what is kept on {size['worth_rows']} records. "
        f"Attacks, by part: {attacks}. Elsewhere `{again} --from` the file of figures goes on from here: "
        "it measures what is missing, new or changed, and nothing else."
    )


def _waiting(board: Board) -> str:
    """Which parts of how many rows, model by model; what protects the model itself counts with its model."""
    found: dict[str, dict[str, int]] = {}
    for row in board.usable:
        for part in row.missing:
            of = found.setdefault(part, {})
            model = f"{row.dataset} {row.model}"
            of[model] = of.get(model, 0) + 1
    whole = (f"all of `{what}`" for what in board.about.get("not_begun", ()))
    told = (f"{part} of {', '.join(f'{m} ({n})' for m, n in of.items())}" for part, of in found.items())
    return "".join(f"; {one}" for one in (*told, *whole)).replace("; ", " (part, model and its rows): ", 1)

"""A table measured on some datasets alone: rows of the others stay as they were measured before, and say so."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privee.paper.base import Result, load_outcome
from privee.paper.outcomes import Outcome

INVERSION = "gradient-inversion"


def kept_beside(result: Result, now: Outcome, folder: Path, only: Sequence[str] | None) -> Outcome:
    """What was measured now; if that was some datasets alone, with the rows of others that the folder holds."""
    if only is None:
        return now
    file = folder / f"{result.name}.json"
    return joined(result, now, load_outcome(file) if file.exists() else None, only)


def joined(result: Result, now: Outcome, held: Outcome | None, only: Sequence[str]) -> Outcome:
    """What was measured now on these datasets, and beside it the rows of others that were held.

    Args:
        result: whose rows they are.
        now: measured on `only`.
        held: the whole table, or parts of it, from before; None if there is none.
        only: the datasets of `now`.
    """
    kept = () if held is None or held.size != now.size else held.rows
    rows = [*now.rows, *(row for row in kept if row.where["dataset"] not in only)]
    rows.sort(key=lambda row: result.standing(row, now.size))
    before = held if kept else None
    settings = now.about["settings"]
    made = _by_entry(result, now, before, only) if "entries" in settings else _by_dataset(now, before, only)
    return dataclasses.replace(
        now, rows=tuple(rows), account=result.account(rows), about={**now.about, "settings": {**settings, **made}}
    )


def _by_entry(result: Result, now: Outcome, held: Outcome | None, only: Sequence[str]) -> dict[str, Any]:
    """Entries of settings, those of other datasets as they were."""
    order = result.datasets(now.size)
    entries = [entry for entry in now.about["settings"]["entries"] if _dataset(entry) in only]
    if held is not None:
        entries += [entry for entry in entries_of(held.about) if _dataset(entry) not in only]
    entries.sort(key=lambda entry: order.index(_dataset(entry)))
    return {"entries": entries}


def _by_dataset(now: Outcome, held: Outcome | None, only: Sequence[str]) -> dict[str, Any]:
    """When each dataset was measured, where settings have no entries to say it."""
    made = {} if held is None else dict.fromkeys((row.where["dataset"] for row in held.rows), _made(held.about))
    said = {} if held is None else held.about["settings"].get("datasets", {})
    return {"datasets": {**made, **said, **dict.fromkeys(only, _made(now.about))}}


def _made(about: Mapping[str, Any]) -> dict[str, str]:
    return {"date": about["date"], "command": about["command"]}


def entries_of(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Entries of settings, each with its records and seeds and, once it is kept, when it was measured."""
    settings, made = about["settings"], _made(about)
    return [
        {**entry, "records": effort[0], "seeds": effort[1], "measured": entry.get("measured", made)}
        for entry in settings["entries"]
        for effort in [effort_of(entry, settings)]
    ]


def effort_of(entry: Mapping[str, Any], settings: Mapping[str, Any]) -> tuple[int, int]:
    """Records and seeds of an entry; older results say them once for all entries."""
    if "records" in entry:
        return entry["records"], entry["seeds"]
    every = settings["records_and_seeds"]
    records, seeds = every.get(_dataset(entry), every[""])
    most = settings.get("at_most_for_gradient_inversion")
    if most is None or not entry["attack"].startswith(INVERSION):
        return records, seeds
    return min(records, most[0]), min(seeds, most[1])


def _dataset(entry: Mapping[str, Any]) -> str:
    return str(entry["model"]["dataset"])

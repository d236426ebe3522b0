"""Which table of attacks was measured when, and with what: tables are measured again dataset by dataset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from privee.paper.measure.sittings import entries_of
from privee.paper.outcomes import Outcome
from privee.paper.report.markdown_tables import markdown

HEAD = (
    "result",
    "datasets",
    "measured",
    "rows under attack",
    "records and seeds",
    "trained models",
    "split of MNIST",
    "OPE schemes",
)
SCHEMES = {"ope": "Boldyreva", "fh-ope": "frequency-hiding"}
Entry = Mapping[str, Any]


def sittings(outcomes: Mapping[str, Outcome]) -> str:
    """One line for every table of attacks and sitting; nothing if there is no such table."""
    body = [line for outcome in outcomes.values() if "entries" in outcome.about["settings"] for line in _lines(outcome)]
    if not body:
        return ""
    said = (
        "A table can be measured again dataset by dataset (`privee paper run TABLE --full --only DATASETS`): rows of "
        "other datasets stay, with the settings they were measured with. A result whose command takes other settings "
        "today is marked in the overview, and says beside its command which."
    )
    return "\n\n".join(
        ["## How the tables of attacks were measured", said, markdown(HEAD, body, len(HEAD), fold=False)]
    )


def _lines(outcome: Outcome) -> list[list[str]]:
    by_date: dict[str, list[Entry]] = {}
    for entry in entries_of(outcome.about):
        by_date.setdefault(entry["measured"]["date"], []).append(entry)
    return [_line(outcome, date, entries) for date, entries in sorted(by_date.items(), reverse=True)]


def _line(outcome: Outcome, date: str, entries: list[Entry]) -> list[str]:
    models = [entry["model"] for entry in entries]
    datasets = dict.fromkeys(model["dataset"] for model in models)
    seen = {row.where["defense"] for row in outcome.rows if row.where.get("dataset") in datasets}
    return [
        f"[{outcome.name}](#{outcome.name})",
        ", ".join(datasets),
        date.split(" ", maxsplit=1)[0],
        _several(model.get("attacked", "test") for model in models),
        _several(f"{entry['records']} x {entry['seeds']}" for entry in entries),
        _several(str(entry.get("trained_models", 1)) for entry in entries),
        _several("strips" if model["how"] is None else model["how"] for model in models if model["dataset"] == "mnist"),
        _several(name for spec, name in SCHEMES.items() if spec in seen),
    ]


def _several(values: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(values)) or "-"

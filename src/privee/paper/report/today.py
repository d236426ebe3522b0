"""Settings of today beside those that a result was measured with: the command on the page may give other figures."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from privee.paper.base import Result
from privee.paper.measure.sittings import effort_of
from privee.paper.outcomes import Outcome, listed

WORDS = ("differs", "parts")
"""Settings that are said for readers and decide no figure."""
EFFORT = ("models", "datasets")
"""Settings of which words do not speak."""
SAID = {
    "attacked": "rows under attack",
    "how": "split",
    "optimizer": "optimizer",
    "attacked_fraction": "share that the attacker holds",
    "trained_models": "trained models",
    "models": "trained models",
    "records": "records",
    "seeds": "seeds",
}
USUAL = {"attacked": "test", "optimizer": "adam", "trained_models": 1}
"""What entries meant before they said it."""
Settings = Mapping[str, Any]


def reworded(result: Result, outcome: Outcome) -> Outcome:
    """The same with the words of today, if nothing that they speak of is another."""
    held, today = outcome.about["settings"], _plain(result, outcome)
    if _spoken_of(held) != _spoken_of(today):
        return outcome
    words = {key: today[key] for key in WORDS if key in today}
    return dataclasses.replace(outcome, about={**outcome.about, "settings": {**held, **words}})


def other_settings(result: Result, outcome: Outcome) -> str:
    """What the command takes today and did not when this was measured; nothing if it would measure the same."""
    held, today = outcome.about["settings"], _plain(result, outcome)
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    then = {_name(case): _flat(case, held) for case in _cases(held)}
    for case in _cases(today):
        now = _flat(case, today)
        before = then.get(_name(case), now)
        for key, value in now.items():
            if key != "measured" and before.get(key) != value:
                what = (SAID.get(key, key), _shown(before.get(key)), _shown(value))
                found.setdefault(what, {})[now["dataset"]] = None
    said = [f"{what} {now}, here {then} ({listed(names)})" for (what, then, now), names in found.items()]
    plain = [(key, held[key], today[key]) for key in today if key in SAID and key in held]
    return "; ".join([*said, *(f"{SAID[key]} {now}, here {then}" for key, then, now in plain if now != then)])


def _plain(result: Result, outcome: Outcome) -> dict[str, Any]:
    """As JSON gives it back."""
    settings: dict[str, Any] = json.loads(json.dumps(result.settings(outcome.size)))
    return settings


def _spoken_of(settings: Settings) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in (*WORDS, *EFFORT)}


def _cases(settings: Settings) -> list[Settings]:
    """Attacked models, or trained ones."""
    return [case for key in ("entries", "cases") for case in settings.get(key, ()) if isinstance(case, dict)]


def _name(case: Settings) -> str:
    """Which place in the result it has."""
    place = ("where", "attack") if "attack" in case else ("dataset", "model", "fraction", "parties")
    return json.dumps([case[key] for key in place])


def _flat(case: Settings, settings: Settings) -> dict[str, Any]:
    """Everything that decides its figures in one dictionary, MNIST's old split by its name."""
    model = case["model"] if isinstance(case["model"], dict) else case
    found = {**USUAL, **model}
    if "attack" in case:
        found["records"], found["seeds"] = effort_of(case, settings)
        found["trained_models"] = case.get("trained_models", 1)
    if found["dataset"] == "mnist" and found["how"] is None:
        found["how"] = "strips"
    return found


def _shown(value: Any) -> str:
    return "as trained" if value is None else str(value)

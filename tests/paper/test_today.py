"""A result that was measured with other settings than its command takes today says which."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from privee.paper import Account, Outcome, find_result, known_results, load_outcome
from privee.paper.report.markdown import EARLIER, page
from privee.paper.report.today import other_settings, reworded

PAGE = Path(__file__).parents[2] / "docs" / "paper"
MACHINE = {"cores": 2, "system": "Linux", "python": "3", "numpy": "2"}


def outcome(name: str, settings: dict[str, Any]) -> Outcome:
    about = {"privee": "0", "date": "then", "seconds": 1.0, "command": "privee", "machine": MACHINE}
    return Outcome(
        name=name,
        title="t",
        size="full",
        band="b",
        rows=(),
        account=Account(agrees=None, printed="nothing", measured="nothing"),
        about={**about, "settings": json.loads(json.dumps(settings))},
    )


@pytest.mark.parametrize("name", known_results())
def test_what_is_measured_today_has_the_settings_of_today(name: str):
    result = find_result(name)
    assert other_settings(result, outcome(name, result.settings("full"))) == ""


def test_rows_split_optimizer_and_effort_are_told():
    result = find_result("clients-all")
    settings = json.loads(json.dumps(result.settings("full")))
    for entry in settings["entries"]:
        model = entry["model"]
        del model["attacked"], entry["records"], entry["seeds"]
        model.pop("optimizer", None)
        model["how"] = None
    settings |= {"records_and_seeds": {"": [256, 10], "cifar10": [8, 3], "cifar100": [8, 3]}}
    settings |= {"at_most_for_gradient_inversion": [64, 3]}
    said = other_settings(result, outcome("clients-all", settings))
    for part in (
        "rows under attack training, here test (mnist",
        "split contiguous, here strips (mnist)",
        "optimizer sgd, here adam (cifar10 and cifar100)",
        "records 64, here 8 (cifar10 and cifar100)",
    ):
        assert part in said
    assert "seeds" not in said


def test_plain_settings_are_told_too_and_words_are_not():
    result = find_result("final-accuracy")
    older = {**result.settings("full"), "models": 1, "differs": ["said otherwise"]}
    assert other_settings(result, outcome("final-accuracy", older)) == "trained models 10, here 1"
    kept = reworded(result, outcome("final-accuracy", older)).about["settings"]
    assert kept["models"] == 1  # as it was measured, in the words of today
    assert "one softmax in the loss" in " ".join(kept["differs"])
    other = reworded(find_result("runtime"), outcome("runtime", {"rounds": 7, "differs": ["said otherwise"]}))
    assert other.about["settings"]["differs"] == ["said otherwise"]
    same = {**result.settings("full"), "differs": ["said otherwise"]}
    assert other_settings(result, outcome("final-accuracy", same)) == ""
    now = reworded(result, outcome("final-accuracy", same)).about["settings"]["differs"]
    assert now == list(result.settings("full")["differs"])


def test_the_page_says_it_in_the_overview_and_beside_the_command():
    held = load_outcome(PAGE / "amplitude.json")
    settings = json.loads(json.dumps(find_result("amplitude").settings("full")))
    for entry in settings["entries"]:
        entry["model"]["attacked"] = "test"
    older = dataclasses.replace(held, about={**held.about, "settings": settings})
    text = page({"amplitude": older}, "paper", pictured=set())
    assert "[amplitude](#amplitude) (full, earlier settings)" in text
    assert f"**{EARLIER}: rows under attack training, here test (mnist).**" in text
    now = dataclasses.replace(held, about={**held.about, "settings": find_result("amplitude").settings("full")})
    assert "earlier settings" not in page({"amplitude": now}, "paper", pictured=set()).split("## How")[0]

"""What each result says about itself and the paper: what differs, and where settings and tables part."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from privee.errors import SettingError
from privee.paper import (
    Account,
    Bench,
    Case,
    Outcome,
    Row,
    Value,
    datasets_of,
    find_result,
    known_results,
    load_outcome,
    measure_all,
    measure_result,
    save_outcome,
)
from privee.paper.measure import attack_rows
from privee.paper.measure import settings_and_tables as settings
from privee.paper.measure.attack_rows import AttackResult
from privee.paper.measure.sittings import joined
from privee.paper.printed import printed_tables
from privee.paper.report.contradictions import notes
from privee.paper.report.differences import differs
from privee.paper.report.sittings_table import sittings

PAGE = Path(__file__).parents[2] / "docs" / "paper"
SAID = Account(agrees=None, printed="nothing", measured="nothing")


def outcome(name: str, about: dict[str, object], size: str = "full") -> Outcome:
    settings = json.loads(json.dumps(about))
    return Outcome(name=name, title="t", size=size, band="b", rows=(), account=SAID, about={"settings": settings})  # type: ignore[arg-type]


def words(name: str) -> str:
    result = find_result(name)
    return " ".join(differs(outcome(name, result.settings("full"))))


def test_what_differs_is_read_from_the_settings():
    said = words("grna-50")
    assert "64 records and 3 seeds on cifar10" in said
    assert "256 records and 10 seeds" in said
    assert "CIFAR: SGD with momentum, as in the released code, without its weight decay" in said
    assert "each party a strip of every picture, a split that is not printed" in said
    assert "16" not in said  # numbers of 16 bits are named for gradient inversion on CIFAR alone
    assert "32-bit numbers, not 16, on CIFAR" in words("gia-50")
    assert "16, on" not in words("accuracy-change") + words("gia-mnist-clients")
    assert "GRNA's loss on mnist, drive and adult is a mean over the records under attack" in said
    assert "GRNA's loss" not in words("gia-50")
    assert "the paper names no number" in said
    assert "the paper names no number" not in words("equation-solving")  # nor does it name the attack
    assert "Adam" not in said
    assert "strips" not in said  # MNIST is split as in the paper
    assert "test rows" not in said
    assert "one trained model per case on cifar100, cifar10 and drive, where the paper has ten runs" in said
    assert "one trained model per case, where" in words("grna-mnist-clients")  # five parties take minutes each
    assert "test rows, where the paper does not say" in words("gia-50")  # training rows are named for GRNA alone
    assert "test rows under gradient-inversion, where the paper does not say" in words("clients-all")
    assert "test rows" not in words("equation-solving")  # which the paper leaves out
    assert "trained once" in words("grna-25")
    assert "trained once" not in said
    assert "half of the columns known, a share that is not printed" in words("grna-mnist-rho")
    assert "logistic models: 30 epochs at a rate of 0.003, none are printed for them" in words("baseline-accuracy")
    assert "45 epochs, not 450, on drive with 5, 10, 15, 20 and 25 parties" in words("drive-clients")
    assert "64 records and 3 seeds, where" in words("gia-mnist-clients")
    assert "256 records and 10 seeds on mnist, drive, adult and digits under grna-paper" in words("clients-all")
    assert "MNIST in vertical strips" not in words("accuracy-change")
    assert "small data" in differs(outcome("grna-50", {}, size="quick"))[0]


@pytest.mark.parametrize("name", known_results())
def test_every_result_says_what_differs_from_the_paper(name: str):
    assert words(name).startswith("Differs from the paper: ")
    assert differs(load_outcome(PAGE / f"{name}.json"))[0].startswith("Differs from the paper: ")


def old_settings(name: str) -> dict[str, Any]:
    """As they were said before the page was corrected: strips, test rows, records once for all entries."""
    now = json.loads(json.dumps(find_result(name).settings("full")))
    for entry in now["entries"]:
        del entry["model"]["attacked"], entry["records"], entry["seeds"]
        entry["model"].pop("optimizer", None)
        entry["model"]["how"] = None
    return {**now, "records_and_seeds": {"": [256, 10], "cifar10": [8, 3], "cifar100": [8, 3]}}


def test_what_was_measured_before_says_so():
    said = " ".join(differs(outcome("grna-50", old_settings("grna-50"))))
    assert "MNIST in vertical strips" in said
    assert "test rows, where the paper attacks training rows" in said
    assert "8 records and 3 seeds on cifar100 and cifar10" in said
    assert "CIFAR: Adam, where the released code has SGD with momentum" in said
    most = {**old_settings("gia-mnist-clients"), "at_most_for_gradient_inversion": [64, 3]}
    assert "64 records and 3 seeds, where" in differs(outcome("gia-mnist-clients", most))[0]


def test_what_a_table_needs_and_the_paper_does_not_print_is_said():
    said = {name: differs(load_outcome(PAGE / f"{name}.json"))[0] for name in ("grna-50", "grna-mnist-clients")}
    for unknown in ("PRIVEE-U with rho = 0.1, which these tables do not print", "its schedule is not printed"):
        assert unknown in said["grna-50"]
        assert unknown not in said["grna-mnist-clients"]
    said["final-accuracy"] = differs(load_outcome(PAGE / "final-accuracy.json"))[0]
    assert "one trained model, where" in said["final-accuracy"]
    assert "the released code takes two" in said["final-accuracy"]
    assert "8 to 32" in words("as-released")  # records of CIFAR there


def a_row(dataset: str, value: float) -> Row:
    return Row(
        where={"dataset": dataset, "known": "50 %", "unknown": "50 %", "defense": "none", "attacker": "naive"},
        measured={"confidence_residual": Value(value=value)},
    )


def made(rows: list[Row], settings: dict[str, Any], date: str) -> Outcome:
    about = {"settings": settings, "date": date, "command": f"privee of {date}"}
    return dataclasses.replace(outcome("grna-50", {}), rows=tuple(rows), about=about)


def test_a_table_measured_on_some_datasets_keeps_the_rows_of_others_and_says_so():
    result = find_result("grna-50")
    held = made([a_row(name, 1.0) for name in ("mnist", "cifar10", "adult")], old_settings("grna-50"), "then")
    now = made([a_row("mnist", 2.0)], result.settings("full"), "today")
    found = joined(result, now, held, ["mnist"])
    values = {row.where["dataset"]: row.measured["confidence_residual"].value for row in found.rows}
    assert values == {"mnist": 2.0, "cifar10": 1.0, "adult": 1.0}
    (said,) = differs(found)
    assert "256 records and 10 seeds on mnist, drive and adult, 8 records and 3 seeds on" in said
    assert "test rows on cifar100, cifar10, drive and adult, where the paper attacks training rows" in said
    assert "strips" not in said
    again = joined(result, dataclasses.replace(now, rows=(a_row("adult", 3.0),)), found, ["adult"])
    entries = again.about["settings"]["entries"]
    by = {entry["model"]["dataset"]: entry.get("measured", {}).get("date") for entry in entries}
    assert (by["mnist"], by["cifar10"], by["adult"]) == ("today", "then", None)
    lines = [line for line in sittings({"grna-50": found}).splitlines() if line.startswith("| [grna-50]")]
    assert len(lines) == 2  # measured in two sittings, the later one first
    assert "| mnist | today | training | 256 x 10 | 10 | contiguous |" in lines[0]
    assert "| then | test | 8 x 3, 256 x 10 | 1, 10 | - |" in lines[1]
    alone = joined(result, now, None, ["mnist"])
    assert [entry["model"]["dataset"] for entry in alone.about["settings"]["entries"]] == ["mnist"]


def test_only_is_for_datasets_that_a_result_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    assert datasets_of(find_result("grna-50"), "full", "mnist, adult") == ("mnist", "adult")
    assert datasets_of(find_result("grna-50"), "full", None) is None
    with pytest.raises(SettingError, match="grna-50 has no rows of 'digits'; it has mnist"):
        datasets_of(find_result("grna-50"), "full", "digits")
    with pytest.raises(SettingError, match="runtime is measured as a whole"):
        datasets_of(find_result("runtime"), "full", "mnist")
    monkeypatch.setitem(attack_rows.EFFORT, "quick", {"": (8, 2)})
    result, bench = find_result("grna-50"), Bench("quick", tmp_path, jobs=1, only=("digits",))
    found = measure_result(result, bench)
    assert {row.where["dataset"] for row in found.rows} == {"digits"}
    assert found.about["command"] == "privee paper run grna-50 --only digits"


def test_every_seed_has_a_model_of_its_own_where_training_is_quick(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(attack_rows.EFFORT, "quick", {"": (8, 2)})
    result, folder = find_result("grna-50"), tmp_path / "one"
    one = measure_result(result, Bench("quick", folder, jobs=1, only=("breast-cancer",)))
    monkeypatch.setitem(attack_rows.TRAINED_ANEW, "quick", {"breast-cancer": 2})
    two = measure_result(result, Bench("quick", folder, jobs=1, only=("breast-cancer",)))
    assert len(list((folder / "models").iterdir())) == 2  # the first is that of before
    assert [row.where for row in two.rows] == [row.where for row in one.rows]
    once, anew = (
        next(r.measured["feature_mse"] for r in found.rows if "none" in r.where.values()) for found in (one, two)
    )
    assert once.value != anew.value  # the second seed attacked another model
    said = two.about["settings"]["entries"]
    assert [
        (entry["seeds"], entry["trained_models"]) for entry in said if entry["model"]["dataset"] == "breast-cancer"
    ] == [(2, 2)]
    assert "trained_models" not in one.about["settings"]["entries"][0]


def test_mnist_is_split_as_in_the_paper_and_grna_attacks_training_rows():
    assert Case(dataset="mnist").split == "contiguous"
    assert Case(dataset="mnist", how="random").split == "random"
    assert Case(dataset="cifar10").split is None
    assert Case(dataset="mnist").key != Case(dataset="mnist", how="strips").key
    assert Case(dataset="mnist").key == Case(dataset="mnist", attacked="training").key  # the same model
    attacked = {"gia-25": "test"} | dict.fromkeys(
        ("grna-25", "grna-mnist-clients", "cifar10-rho", "amplitude"), "training"
    )
    for name, rows in attacked.items():
        result = find_result(name)
        assert isinstance(result, AttackResult)
        assert {entry.case.attacked for entry in result.entries("full")} == {rows}


def test_training_rows_are_attacked_where_a_case_says_so(tmp_path: Path):
    told: set[int] = set()
    bench = Bench("quick", tmp_path, jobs=2, progress=lambda done, of, what: told.add(of))
    test, training = bench.subjects([Case(dataset="digits"), Case(dataset="digits", attacked="training")])
    assert told == {1}  # the same model, trained once
    assert set(training.targets) == set(test.auxiliary)
    assert not set(training.targets) & set(test.targets)
    sample = training.sample(0, 16, 100)
    assert sample.rows is not None
    assert set(sample.rows) <= set(training.targets)


def test_a_result_of_other_settings_is_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    result, bench = find_result("diagrams"), Bench("quick", tmp_path)
    monkeypatch.setattr("privee.paper.base.known_results", lambda: {"diagrams": result})
    held = measure_result(result, bench)
    old = dataclasses.replace(held, about={**held.about, "settings": {"of": "before"}, "date": "long ago"})
    save_outcome(old, tmp_path)
    (found,) = measure_all(bench, tmp_path)
    assert found.about["settings"] == held.about["settings"]
    assert found.about["date"] != "long ago"
    save_outcome(dataclasses.replace(held, about={**held.about, "date": "just now"}), tmp_path)
    (kept,) = measure_all(bench, tmp_path)
    assert kept.about["date"] == "just now"


def test_boldyrevas_scheme_has_nothing_printed_beside_it_any_more():
    result = find_result("grna-50")
    assert isinstance(result, AttackResult)
    for entry in result.entries("full"):
        printed = printed_tables()["grna_mse_strength_50"][entry.where["dataset"]]["ope"]["mean"]
        assert entry.defenses["ope"] is None
        assert entry.defenses["fh-ope"].value == printed  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------- settings and tables


def test_settings_and_tables_part_where_the_page_says_so():
    assert settings.budgets_printed("gia_mse_strength_25") == (0.5, 0.7) != settings.GIA_BUDGETS
    assert settings.budgets_printed("gia_mse_mnist_strength_50_by_clients") == settings.GIA_BUDGETS
    assert not settings.chosen_amplitude_was_searched()
    assert [row[0] for row in settings.undefended_beside_rounding("grna", "cifar100")] == [0.14, 0.012, 0.37]
    helped = settings.rounding_helps_the_attack()
    assert any(line.startswith("GRNA 75 %, cifar100") for line in helped)
    assert not any("GRNA 50 %, cifar100" in line for line in helped)  # 0.012 beside 0.012
    text = notes({})
    for said in ("0.5 and 1 in the settings", "have 0.5 and 0.7", "C = 0.48", "not among", "0.14 / 0.012 / 0.37"):
        assert said in text
    assert "74.27 % of its test rows" in text
    assert "its larger class is 76.38 % of them" in text

"""What each result says about itself and the paper: what differs, and where settings and tables part."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from privee.paper import Account, Bench, Case, Outcome, find_result, measure_all, measure_result
from privee.paper.base import save_outcome
from privee.paper.measure import settings_and_tables as settings
from privee.paper.measure.attack_rows import AttackResult
from privee.paper.printed import printed_tables
from privee.paper.report.contradictions import notes
from privee.paper.report.differences import differs

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
    assert "SGD with momentum" in said
    assert "strips" not in said  # MNIST is split as in the paper
    assert "test rows" not in said
    assert "one trained model per case" in said
    assert "test rows, where the paper attacks training rows" in words("gia-50")
    assert "trained once" in words("grna-25")
    assert "trained once" not in said
    assert "drive with 5 parties: 45 epochs, not 450" in words("drive-clients")
    assert "at most 64 and 3" in words("gia-mnist-clients")
    assert differs(outcome("runtime", {"rounds": 3})) == []
    assert "small data" in differs(outcome("grna-50", {}, size="quick"))[0]


def test_what_was_measured_before_says_so():
    """Settings of before this page was corrected: strips, test rows, eight records."""
    now = json.loads(json.dumps(find_result("grna-50").settings("full")))
    for entry in now["entries"]:
        del entry["model"]["attacked"]
        entry["model"]["how"] = None
    now["records_and_seeds"]["cifar10"] = [8, 3]
    said = " ".join(differs(outcome("grna-50", now)))
    assert "MNIST in vertical strips" in said
    assert "test rows, where the paper attacks training rows" in said
    assert "8 records and 3 seeds on cifar10" in said


def test_mnist_is_split_as_in_the_paper_and_grna_attacks_training_rows():
    assert Case(dataset="mnist").split == "contiguous"
    assert Case(dataset="mnist", how="random").split == "random"
    assert Case(dataset="cifar10").split is None
    assert Case(dataset="mnist").key != Case(dataset="mnist", how="strips").key
    assert Case(dataset="mnist").key == Case(dataset="mnist", attacked="training").key  # the same model
    for name, rows in (("grna-25", "training"), ("gia-25", "test"), ("grna-mnist-clients", "training")):
        result = find_result(name)
        assert isinstance(result, AttackResult)
        assert {entry.case.attacked for entry in result.entries("full")} == {rows}


def test_training_rows_are_attacked_where_a_case_says_so(tmp_path: Path):
    bench = Bench("quick", tmp_path, jobs=1)
    test, training = bench.subjects([Case(dataset="digits"), Case(dataset="digits", attacked="training")])
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

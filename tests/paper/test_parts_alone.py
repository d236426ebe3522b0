"""Each part of the released code switched on alone: where it acts, where it is refused, and on which data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from privee.cli import app
from privee.errors import PriveeError, SettingError
from privee.paper import Bench, Outcome, datasets_of, find_result, kept_beside, load_outcome, measure_result
from privee.paper.base import save_outcome
from privee.paper.released import networks, recipes, reenact
from privee.paper.released.columns import Columns
from privee.paper.released.kinds import DATASETS, datasets_for, refuse_idle, touched
from privee.paper.released.parts import PARTS, PROFILE, chosen, named
from privee.paper.released.scenes import NEEDED, Scene, figures
from privee.paper.report.attribution_tables import attribution_tables
from privee.paper.report.markdown import page
from privee.paper.report.today import reworded
from privee.paper.results.as_released import QUICK_SCENES, _row

NOTHING: frozenset[str] = frozenset()
RESULT = find_result("as-released")
ON_DIGITS = touched(QUICK_SCENES)
ROWS = 60
DRAWN = ("rank-surrogate", "draws-to-3", "reversed-schedule", "unfitted")
"""Parts that leave undefended rows as they are."""
WIDTHS = {"adult": 14, "cifar10": 24, "cifar100": 24}


def small_columns(
    dataset: str, *, known: float, parties: int, unscaled: bool = False, data_dir: Path | None = None
) -> Columns:
    """Random rows in place of files; pictures without strips, for a small network."""
    torch.manual_seed(len(dataset))
    n_classes, width = 100 if dataset == "cifar100" else 10, WIDTHS[dataset]
    rows = torch.rand(ROWS, width) * (9.0 if unscaled else 1.0)
    labels = torch.arange(ROWS) % n_classes
    return Columns(rows, rows, labels, labels, (width // parties,) * parties, n_classes)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, settings in recipes.TRAINING.items():
        fewer = {"rows": ROWS} if "rows" in settings else {}
        monkeypatch.setitem(recipes.TRAINING, name, {**settings, "epochs": 2, **fewer})
    for records in (recipes.RECORDS, recipes.COSTLY_RECORDS):
        for name in records:
            monkeypatch.setitem(records, name, 6)
    monkeypatch.setattr(networks, "lay_out", lambda name, **how: LAY_OUT[name in WIDTHS](name, **how))
    monkeypatch.setattr(reenact, "_LAST", {})


LAY_OUT = {True: small_columns, False: networks.lay_out}


def bench(folder: Path, parts: str, *names: str) -> Bench:
    where: Any = {"size": "quick"} if set(names) <= {"digits"} else {"size": "full", "only": names}
    return Bench(folder=folder, parts=parts, **where)


def values(outcome: Outcome) -> dict[str, dict[str, float]]:
    """By place, what each combination gave."""
    return {json.dumps(row.where): {name: value.value for name, value in row.measured.items()} for row in outcome.rows}


@pytest.mark.parametrize("part", PARTS)
def test_each_part_alone_is_named_and_changes_rows(part: str, tmp_path: Path, small: None):
    names = ["digits"] if part in ON_DIGITS else datasets_for(frozenset({part}))
    alone, plain = (values(measure_result(RESULT, bench(tmp_path, parts, *names))) for parts in (part, ""))
    assert all(len(row) == 1 for row in alone.values())  # no row is empty
    touching = {place: row for place, row in alone.items() if part in row}
    assert touching
    assert {name for row in alone.values() for name in row} <= {part, "as published"}
    changed = {place for place, row in touching.items() if row[part] != plain[place]["as published"]}
    if part not in DRAWN:  # undefended nothing is drawn, so that what changes is the part's doing
        changed = {place for place in changed if json.loads(place)["defense"] == "none"}
    assert bool(changed) == (part != "hundred-outputs")  # which the true CIFAR-100 has anyway
    rest = alone.keys() - touching.keys()
    assert all(alone[place] == plain[place] for place in rest)


@pytest.mark.parametrize("dataset", ["digits", "adult", "cifar10", "cifar100"])
def test_the_whole_profile_is_switched_on_with_one_word(dataset: str, tmp_path: Path, small: None):
    found = values(measure_result(RESULT, bench(tmp_path, "profile", dataset)))
    on = {name for row in found.values() for combination in row for name in combination.split(" + ")}
    scenes = QUICK_SCENES if dataset == "digits" else [s for s in reenact.scenes() if s.dataset == dataset]
    assert on - {"as published"} == touched(scenes) & PROFILE
    assert all(len(row) == 1 for row in found.values())


def test_the_profile_is_a_word_among_others():
    assert chosen("profile") == PROFILE
    assert chosen("profile, unfitted") == PROFILE | {"unfitted"}
    assert named("profile, unfitted") == {"unfitted"}


def test_ten_iterations_alone_are_the_loss_after_ten_steps(tmp_path: Path, small: None, monkeypatch):
    outcome = measure_result(RESULT, bench(tmp_path, "ten-iterations", "cifar10"))
    rows = {row.where["defense"]: row for row in outcome.rows if row.where["table"] == "gia-50"}
    usual = recipes.steps_of

    def ten(*given: Any) -> Any:
        steps = usual(*given)
        return steps if steps.normal_start else recipes.Steps(at=(10,), learning_rate=1e-3, normal_start=False)

    monkeypatch.setattr(reenact, "steps_of", ten)  # stops there
    stopped = measure_result(RESULT, bench(tmp_path / "again", "", "cifar10"))
    after = {row.where["defense"]: row for row in stopped.rows if row.where["table"] == "gia-50"}
    assert {name: row.measured["ten-iterations"] for name, row in rows.items()} == {
        name: row.measured["as published"] for name, row in after.items()
    }


# ------------------------------------------------------------------------------------------------- CIFAR-100 itself


@pytest.mark.parametrize("attack", ["grna", "gia"])
def test_cifar100_is_loaded_unless_the_part_says_otherwise(attack: Any):
    scene = Scene(dataset="cifar100", attack=attack)
    swap = frozenset({"cifar10-for-cifar100"})
    true, swapped = (recipes.recipe_of(scene, parts) for parts in (NOTHING, swap))
    assert (true.dataset, swapped.dataset) == ("cifar100", "cifar10")
    assert (true.epochs, true.rows, true.optimizer) == (swapped.epochs, swapped.rows, swapped.optimizer)
    assert swapped == recipes.recipe_of(Scene(dataset="cifar10", attack=attack), NOTHING)  # one model for both
    needed = NEEDED["cifar100", False, attack]
    assert all(recipes.recipe_of(scene, parts).dataset == "cifar10" for parts in needed)  # what is played by default


def test_what_was_kept_as_cifar100_and_was_not_is_left_alone(tmp_path: Path, small: None):
    scene, keep = Scene(dataset="cifar100", attack="grna"), tmp_path / "released" / "findings"
    keep.mkdir(parents=True)
    wrong = {"found": {"as published": {"none": -1.0}}, "accuracy": {"as published": 0.5}}
    (keep / "grna-cifar100-50-2-0.json").write_text(json.dumps(wrong))
    found = reenact.play(scene, seed=0, folder=tmp_path / "released", data_dir=None, tell=lambda *_: None, only=NOTHING)
    assert found["found"]["as published"]["none"] > 0


def test_findings_that_lack_a_defense_are_made_again(tmp_path: Path, small: None):
    first = measure_result(RESULT, bench(tmp_path, ""))
    for file in (tmp_path / "released" / "findings").iterdir():
        held = json.loads(file.read_text())
        del held["found"]["as published"]["privee-u+"]
        file.write_text(json.dumps(held))
    assert values(measure_result(RESULT, bench(tmp_path, ""))) == values(first)


def test_a_row_without_a_figure_is_an_error():
    (figure, *_) = figures()
    with pytest.raises(PriveeError, match=r"scrambled was not played for .*grna-25"):
        _row(figure, [{"found": {}}], frozenset({"scrambled"}))


# ----------------------------------------------------------------------------------------------------- --only


def test_only_takes_the_datasets_of_the_size():
    assert RESULT.datasets("full") == DATASETS
    assert set(DATASETS) == {figure.scene.dataset for figure in figures()}
    assert datasets_of(RESULT, "full", "adult, cifar10") == ("adult", "cifar10")
    assert datasets_of(RESULT, "quick", "digits") == ("digits",)
    with pytest.raises(SettingError, match="as-released has no rows of 'mnist,adlt'; it has mnist, adult, drive"):
        datasets_of(RESULT, "full", "mnist,adlt")
    with pytest.raises(SettingError, match="as-released has no rows of 'mnist'; it has digits"):
        datasets_of(RESULT, "quick", "mnist")


def test_only_plays_its_datasets_and_keeps_the_rows_of_others(tmp_path: Path, small: None):
    def run(*names: str) -> Outcome:
        made = measure_result(RESULT, bench(tmp_path / "runs", "rank-surrogate", *names))
        made = kept_beside(RESULT, made, tmp_path, names)
        save_outcome(made, tmp_path)
        return load_outcome(tmp_path / "as-released.json")

    adult = run("adult")
    assert {row.where["dataset"] for row in adult.rows} == {"adult"}
    assert adult.account.printed == f"{len(adult.rows)} figures of attacks"
    assert {file.name.split("-")[1] for file in (tmp_path / "runs/released/findings").iterdir()} == {"adult"}
    both = run("cifar10")
    kept = [row for row in both.rows if row.where["dataset"] == "adult"]
    assert kept == list(adult.rows)
    assert [row.where["table"] for row in both.rows] == [
        figure.table for figure in figures() if figure.scene.dataset in ("adult", "cifar10")
    ]  # as the page has them
    made = both.about["settings"]["datasets"]
    assert made["adult"]["command"].endswith("--as-released 'rank-surrogate' --only adult")
    assert made["cifar10"]["command"] == both.about["command"]
    text = page({"as-released": both}, "paper", pictured=set())
    assert "Rows of adult are older: `privee paper run as-released --full" in text
    assert "Rows of cifar10" not in text
    older = {**both.about["settings"], "differs": ["said otherwise"]}
    said = reworded(RESULT, Outcome(**{**vars(both), "about": {**both.about, "settings": older}}))
    assert said.about["settings"]["differs"] != ["said otherwise"]


def test_parts_on_some_datasets_go_beside_the_same_parts(
    tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def run(*more: str) -> int:
        monkeypatch.setattr("sys.argv", ["privee", "paper", "run", "as-released", "--out", str(tmp_path), *more])
        return app.run()

    assert run("--full", "--only", "adult") == 0
    assert run("--full", "--only", "cifar10", "--as-released", "rank-surrogate") == 0
    said = capsys.readouterr().out
    assert "rank-surrogate" in said
    assert "parts on" in said
    kept = load_outcome(tmp_path / "parts" / "rank-surrogate" / "as-released.json")
    assert {row.where["dataset"] for row in kept.rows} == {"cifar10"}
    assert run("--as-released", "unscaled-columns") == 2
    assert "take --full --only adult" in capsys.readouterr().err


# --------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("parts", "instead"),
    [
        ("unscaled-columns", "adult"),
        ("cifar10-for-cifar100", "cifar100"),
        ("hundred-outputs", "cifar100"),
        ("ten-iterations", "cifar10"),
        ("scrambled-cifar", "cifar10"),
        ("double-softmax,unscaled-columns", "mnist,adult"),
    ],
)
def test_parts_that_need_a_dataset_name_the_command(parts: str, instead: str, tmp_path: Path):
    idle = parts.rpartition(",")[2]
    said = f"{idle}: no effect on digits, all that is played here at quick size; take --full --only {instead}$"
    with pytest.raises(SettingError, match=said):
        measure_result(RESULT, Bench("quick", tmp_path, parts=parts))


def test_at_full_size_parts_are_judged_by_the_datasets_asked_for(tmp_path: Path):
    with pytest.raises(SettingError, match=r"ten-iterations: no effect on mnist and adult, .* full size; .* cifar10$"):
        measure_result(RESULT, Bench("full", tmp_path, parts="ten-iterations", only=("mnist", "adult")))
    for part in PARTS:
        (dataset,) = datasets_for(frozenset({part}))
        refuse_idle(frozenset({part}), [scene for scene in reenact.scenes() if scene.dataset == dataset], "full")


def test_above_the_parts_stands_how_one_is_switched_on():
    text = attribution_tables([], "as-released.json", {}, set())
    said, _, table = text.partition("\n\n")
    assert "`privee paper run as-released --full --only mnist --as-released double-softmax`" in said
    assert "`profile`" in said
    assert table.startswith("| part |")

"""`privee bench`: its page, and bad input in one line."""

import json
from pathlib import Path

import pytest

from privee.bench.board import save_board
from privee.cli.bench import command_line, print_board
from tests._support.made_boards import board, row


@pytest.fixture
def kept(tmp_path):
    save_board(board(row("none"), row("ordered-dp:epsilon=4", moved=0.3)), tmp_path / "kept" / "leaderboard.json")
    for folder in ("folder.md", "figures.json", "images/drawn.png"):
        (tmp_path / "kept" / folder).mkdir(parents=True)
    (tmp_path / "kept" / "file").write_text("not a folder")
    (tmp_path / "kept" / "broken.json").write_text('{"about": {}, "rows": [{"dataset": "digits"}]}')
    return tmp_path / "kept"


def test_one_command_writes_page_picture_and_figures(good, kept, tmp_path):
    out = good("bench", "page", "-o", "kept", "--page", "docs/leaderboard.md")
    assert "leaderboard.md" in out
    assert (tmp_path / "docs" / "images" / "leaderboard.png").read_bytes()[:4] == b"\x89PNG"
    text = (tmp_path / "docs" / "leaderboard.md").read_text()
    assert "| `ordered-dp:epsilon=4` |" in text
    assert json.loads((tmp_path / "docs" / "leaderboard.json").read_text())["rows"][1]["worth"]["l1_moved"] == 0.3
    good("bench", "page", "-o", "kept", "--page", "docs/leaderboard.md")  # over what was there
    assert (tmp_path / "docs" / "leaderboard.md").read_text() == text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("bench page -o nowhere", "there is no nowhere/leaderboard.json; measure first"),
        ("bench page -o kept --page page.html", "ends in .md"),
        ("bench --protections codes=8", "a protection is written seal:SPEC"),
        ("bench --protections seal:codes=1", "codes of a seal"),
        ("bench --page page.html", "ends in .md"),
        ("bench --minutes 1e-9 --page kept/folder.md", "kept/folder.md is a folder"),
        ("bench --minutes 1e-9 --page kept/figures.md", "kept/figures.json is a folder"),
        ("bench --minutes 1e-9 --page kept/drawn.md", "kept/images/drawn.png is a folder"),
        ("bench --minutes 1e-9 --page kept/file/x.md", "kept/file is not a folder"),
        ("bench --minutes 0", "minutes must be a number above 0"),
        ("bench --jobs 0", "jobs"),
        ("bench --from nowhere.json", "there is no nowhere.json"),
        ("bench --from kept/broken.json", "is no leaderboard that can be read"),
        ("bench nope", "No such command"),
    ],
)
def test_bad_input_gets_one_line(privee, kept, tmp_path, line, said):
    code, out, err = privee(*line.split())
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "bench-results").exists()  # nothing was measured before it was refused


def test_a_board_from_elsewhere_goes_on_with_what_is_new(good, tmp_path):
    line = "bench --datasets breast-cancer --models logistic -a equation-solving --protections none --jobs 1 --json"
    first = json.loads(good(*line.split(), "-d", "none", "-o", "first", "--page", "first.md"))
    assert "| `none` |" in (tmp_path / "first.md").read_text()
    assert json.loads((tmp_path / "first.json").read_text()) == first
    again = good(*line.split(), *["-d", "none", "-d", "label-only", "-o", "second", "--from", "first/leaderboard.json"])
    rows, about = json.loads(again)["rows"], json.loads(again)["about"]
    options = "--datasets breast-cancer --models logistic -d none -d label-only -a equation-solving --protections none"
    assert about["command"] == f"privee bench --quick {options} --from leaderboard.json"
    assert about["from"] == {"file": "leaderboard.json", "rows": 1}
    assert about["size"]["datasets"] == ["breast-cancer"]
    assert rows[0] == first["rows"][0]
    assert rows[1]["defense"] == "label-only"
    assert rows[1]["once"] is not None
    assert len(list((tmp_path / "second" / "cells").iterdir())) == 3  # what it keeps, once and ten times: its own


def test_a_model_without_its_data_is_said_in_one_line_and_is_no_result(privee, tmp_path):
    line = "bench --datasets drive --models logistic -d none --protections none -a logistic-regression --jobs 1"
    code, out, err = privee(*line.split(), "--data-dir", "nowhere", "-o", "kept")
    assert (code, out) == (2, "")
    said, error = err.splitlines()
    assert said.startswith("drive, logistic could not be trained: ")
    assert "no model could be trained" in error
    assert not (tmp_path / "kept" / "leaderboard.json").exists()
    assert not list((tmp_path / "kept").glob("cells/*"))


def test_the_table_marks_what_is_not_finished_and_what_is_older_and_says_of_how_many_models(capsys):
    rows = [row(name, dataset=dataset) for name in ("none", "ordered-dp:epsilon=4") for dataset in ("a", "b")]
    print_board(board(*rows))
    plain = capsys.readouterr().out
    assert not {"*", "†"} & set(plain)
    assert max(map(len, plain.splitlines())) <= 80
    print_board(board(*rows, row("rounding", missing=("ten",)), row("ope:k=[1]", older=True)))
    shown = capsys.readouterr().out
    found = {" ".join(line.split()[:3]) for line in shown.splitlines() if line}
    assert {"none 2 0.90", "rounding * 1", "ope:k=[1] † 1"} <= found
    assert "* not measured in all three ways of asking" in shown
    assert "† in part measured by an earlier version" in shown


def test_the_command_is_recorded_with_what_decides_what_is_measured_and_without_folders():
    assert command_line(False, None, None, None, None, None, None) == "privee bench --quick"
    given = (["adult"], ["mlp"], ["a:b=[1, 2]"], ["x"], ["none"])
    assert command_line(True, *given, Path("/home/me/all.json")) == (
        "privee bench --full --datasets adult --models mlp -d 'a:b=[1, 2]' -a x --protections none --from all.json"
    )


def test_rows_of_a_file_that_are_not_asked_for_are_counted_before_they_are_left_out(privee, tmp_path):
    save_board(board(row("none"), row("ordered-dp:epsilon=4"), row("none", dataset="adult")), tmp_path / "known.json")
    line = "bench --datasets digits --models mlp -d none --protections none -a logistic-regression --minutes 1e-9"
    code, _, err = privee(*line.split(), "--from", "known.json", "-o", "new")
    assert code == 0
    assert err.splitlines()[0] == "2 of the 3 rows of known.json are not asked for, and left out"
    made = json.loads((tmp_path / "new" / "leaderboard.json").read_text())
    assert [(one["defense"], one["older"]) for one in made["rows"]] == [("none", True)]
    assert made["about"]["from"] == {"file": "known.json", "rows": 1}


@pytest.mark.parametrize(("end", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_what_was_measured_before_an_interruption_is_on_the_board(privee, tmp_path, monkeypatch, end, code):
    """By Ctrl-C, or by SIGTERM: `bench page` then has what the folder holds, and not what it held the last time."""
    line = "bench --datasets breast-cancer --models logistic -d none --protections none -a logistic-regression --jobs 1"

    def interrupted(*_):
        raise end

    monkeypatch.setattr("privee.bench.running.Bench._attack", interrupted)
    try:
        found = privee(*line.split(), "-o", "kept")[0]
    except SystemExit as left:  # as the command ends then, with its code
        found = left.code
    assert found == code
    made = json.loads((tmp_path / "kept" / "leaderboard.json").read_text())
    assert [(one["defense"], one["missing"]) for one in made["rows"]] == [("none", ["once", "ten"])]
    assert (made["about"]["done"]["measured"], made["about"]["done"]["stopped"]) == (1, True)


def test_an_interruption_before_anything_is_measured_leaves_no_board(privee, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("privee.bench.running.Bench._measure", interrupted)
    code, out, err = privee("bench", "-o", "kept")
    assert (code, out, err) == (130, "", "privee: interrupted; the same command goes on where it stopped\n")
    assert not (tmp_path / "kept").exists()

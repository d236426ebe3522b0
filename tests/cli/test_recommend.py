"""`privee recommend`, run as a user runs it."""

import io
import json

import pytest
from rich.console import Console

from privee.audit.recommend import Wishes, recommend
from privee.cli import recommend as command
from tests._support import recommended
from tests._support.commands import good

ENTRY = """
import numpy as np
from scipy.special import softmax

X = np.random.default_rng(0).random((120, 8))
W = np.random.default_rng(1).normal(size=(8, 5)) * 3

def parts():
    return lambda a, p: softmax(np.hstack([a, p]) @ W, axis=1), X[:, :5], X[:, 5:]
"""


LABELLED = """
import numpy as np
from scipy.special import softmax

rng = np.random.default_rng(0)
X = rng.random((600, 5))
W = np.array([3.0, -3.0, 2.0, 4.0, -2.0])

def model(a, p):
    odds = np.hstack([a, p]) @ W - 3
    return softmax(np.stack([0 * odds, odds], axis=1), axis=1)

def parts():
    labels = (rng.random(600) < model(X[:, :3], X[:, 3:])[:, 1]).astype(int)
    return {"model": model, "active_columns": X[:, :3], "passive_columns": X[:, 3:], "labels": labels}
"""


# The command


def right_of(column: int, words: str) -> str:
    """The right one of two columns as running text."""
    return " ".join(line[column:].strip() for line in words.splitlines())


def test_the_command_for_a_number_of_classes(tmp_path):
    wishes = ("--keep", "top-3", "--calibrated-top", "--epsilon", 40, "--queries", 2)
    told = json.loads(good("recommend", "--classes", 10, *wishes, "--json", cwd=tmp_path))
    expected = recommend(Wishes(keep="top-3", calibrated_top=True, epsilon=40, queries=2), n_classes=10)
    assert told == expected.as_dict()
    words = good("recommend", "--classes", 10, *wishes, cwd=tmp_path)
    assert words.startswith(f"Use: {expected.chosen.defense}\n")
    chosen, others = words.split("Considered, and why not")
    for part in (expected.chosen.proven, *expected.chosen.not_covered, *expected.over_releases, *expected.notes):
        assert part in right_of(13, chosen)
    for option in (*expected.alternatives, *expected.not_protective):
        assert option.why in right_of(4, others)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_cut_short_on_a_narrow_screen(monkeypatch, capsys):
    measured = recommended.measured()
    screen = Console(width=60, file=io.StringIO())
    monkeypatch.setattr(command, "out", screen)
    command._show(measured)
    words = screen.file.getvalue()
    assert "…" not in words
    assert {option.defense for option in (*measured.alternatives, *measured.not_protective)} <= {*words.splitlines()}
    assert capsys.readouterr().out.splitlines() == [measured.use, f"--defense '{measured.chosen.defense}'"]


def test_the_command_for_ones_own_model(tmp_path):
    (tmp_path / "mine.py").write_text(ENTRY)
    quick = ("--records", 20, "--auxiliary", 40, "--jobs", 1)
    told = json.loads(good("recommend", "--entry", "mine:parts", "--keep", "class", *quick, "--json", cwd=tmp_path))
    assert told["met"]
    assert told["chosen"]["defense"] == "label-only"
    assert told["chosen"]["attacked"]["guess_normalised"] > 0.5
    assert told["not_protective"][0]["attacked"]["grade"] == "open"
    assert "20 records and 40 auxiliary rows" in told["tried_on"]


@pytest.mark.slow
def test_the_order_of_records(tmp_path):
    (tmp_path / "mine.py").write_text(LABELLED)
    asked = ("recommend", "--entry", "mine:parts", "--records", 20, "--auxiliary", 40, "--jobs", 1)
    told = json.loads(good(*asked, "--keep", "order-of-records", "--min-auc", 0.7, "--json", cwd=tmp_path))
    assert told["met"]
    assert told["wishes"]["min_auc"] == 0.7
    chosen = told["chosen"]
    assert chosen["settings"]["name"] == "record-order"
    assert chosen["figures"]["utility"]["auc"] >= 0.7
    words = good(*asked, "--keep", "class", cwd=tmp_path)
    assert words.startswith("Use: label-only\n")
    flowing = right_of(13, words.split("Considered, and why not")[0])
    auc = chosen["figures"]["utility_of_scores"]["auc"]
    assert f"(scores {auc:.3f})" in flowing
    assert "--keep order-of-records keeps more: record-order:epsilon=" in flowing


def test_wishes_that_cannot_be_met_are_no_error(tmp_path):
    words = good("recommend", "-k", 10, "--max-moved", 0.001, cwd=tmp_path)
    assert words.startswith("Nearest: ordered-dp:epsilon=64\nnot met")
    assert "max moved: the nearest setting moves scores by" in words
    assert recommend(Wishes(max_moved=0.001), n_classes=10).as_dict()["met"] is False


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "say what to attack: a run folder"),
        (("--classes", 10, "--entry", "mine:parts"), "give a model or --classes, not both"),
        (("--classes", 10, "--max-moved", -1), "max_moved must be a number above 0, got -1"),
        (("--classes", 2, "--min-auc", 0.7), "min_auc needs labels, and synthetic scores have none"),
    ],
)
def test_bad_input_gets_one_clear_line(tmp_path, arguments, says, privee):
    code, out, err = privee("recommend", *arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert says in err

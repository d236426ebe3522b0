"""`privee budget RUN`: what each further question can give away."""

import pytest

from tests._support.commands import good as in_its_own_process

QUICK = ("--questions", "2,1", "--records", 10, "--auxiliary", 130)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("budget")
    training = ("--adversary-fraction", 0.875, "--split", "random", "--seed", 1, "--epochs", 5, "--learning-rate", 0.01)
    in_its_own_process("train", "digits", *training, "--out", folder / "run", cwd=folder)
    return folder / "run"


def test_json_and_table_and_picture_show_the_same_curve(run, told, good, tmp_path):
    found = told("budget", run, "-d", "ranking-only", *QUICK)
    (one, two) = found["curve"]
    assert (one["questions"], two["questions"], found["records"]) == (1, 2, 10)
    assert two["left"] < one["left"] < 1
    shown = good("budget", run, "-d", "ranking-only", *QUICK, "--out", tmp_path / "curve.svg")
    assert "█" in shown
    assert f"{two['left']:.1%}" in shown
    assert two["worst"]["name"] in shown
    assert (tmp_path / "curve.svg").read_text().startswith("<?xml")


def test_of_a_run_on_tables_its_tables_are_needed(run, privee, tmp_path):
    code, _, line = privee("budget", run, "--party", "bank=bank.csv")
    assert (code, line) == (2, "privee: party bank: bank.csv: no such file\n")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("--questions", "1,2"), "--questions is for a run's model; give its folder: privee budget RUN --questions"),
        (("--out", "c.png"), "--out is for a run's model"),
        (("RUN", "--classes", 3), "--classes means nothing here: a run has a curve by number of questions"),
        (("RUN", "--epsilon", 3), "--epsilon means nothing here"),
        (("RUN", "--questions", "1,x"), "--questions takes whole numbers"),
        (("RUN", "--questions", "0,2"), "--questions takes numbers from 1 on"),
        (("RUN", "--out", "c.pdf"), "cannot tell the format of c.pdf; a picture ends in .png or .svg"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, privee, arguments, line):
    code, _, said = privee("budget", *(run if word == "RUN" else word for word in arguments))
    assert code == 2
    assert line in said
    assert len(said.splitlines()) == 1

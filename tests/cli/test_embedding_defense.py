"""`privee train --embedding-defense`, from the command line to the run and the audit."""

import json
from pathlib import Path

import pytest

QUICK = ("--epochs", "2")


def test_it_is_trained_saved_and_said(told, good):
    done = told(
        "train",
        "digits",
        *QUICK,
        "--parties",
        "3",
        "--embedding-defense",
        "mid:weight=0.01",
        "--embedding-defense",
        "passive-2:dropout:rate=0.25",
        "--out",
        "run",
    )
    assert {k: v["embedding_defense"] for k, v in done["embedding_defenses"].items()} == {
        "passive-1": "mid:weight=0.01",
        "passive-2": "dropout:rate=0.25",
    }
    assert {one["proven"] for one in done["embedding_defenses"].values()} == {"none"}
    config = json.loads(Path("run/config.json").read_text())
    assert config["embedding_defenses"]["passive-1"] == {"name": "mid", "weight": 0.01}
    party = json.loads(Path("run/parties/passive-2/party.json").read_text())
    assert party["embedding_defense"] == {"name": "dropout", "rate": 0.25}
    for name in ("one.csv", "two.csv"):
        good("predict", "run", "-d", "none", "--out", name)
    assert Path("one.csv").read_text() == Path("two.csv").read_text()  # asked again, the same noise


def test_people_are_told_that_nothing_is_proven(good):
    words = " ".join(
        good("train", "digits", *QUICK, "--embedding-defense", "dcor", "--pipeline", "--out", "run").split()
    )
    assert "passive-1 sends an embedding trained to have little distance correlation with the columns (dcor)" in words
    assert "nothing is proven about it" in words
    assert "Beware: a weight of 0.0001 is so small that nothing may come of it" in words
    assert "weight=1" in words


def test_hashvfl_is_a_seal(told):
    done = told("train", "digits", *QUICK, "--embedding-defense", "hashvfl:signs=3", "--out", "run")
    assert done["seals"]["passive-1"]["seal"] == "signs=3"
    assert done["embedding_defenses"] == {}
    assert json.loads(Path("run/config.json").read_text())["seals"]["passive-1"]["signs"] == 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--embedding-defense", "mid", "--seal", "codes=8"), "a run has seals or embedding defenses, not both"),
        (("--embedding-defense", "nothing"), "no embedding defense is called 'nothing'; there are mid, dcor"),
        (("--embedding-defense", "mid:weight=-1"), "weight must be a number above 0"),
        (("--embedding-defense", "somebody:mid"), "names 'somebody'; the passive parties are passive-1"),
        (("--embedding-defense", "mid", "--embedding-defense", "dcor"), "is given twice for all parties"),
    ],
)
def test_what_is_refused_is_one_line(privee, options, words):
    code, _, err = privee("train", "digits", *QUICK, *options, "--out", "run")
    assert code == 2
    assert words in " ".join(err.split())
    assert err.count("privee: ") == 1
    assert not Path("run").exists()


def test_a_run_with_one_is_not_sealed(privee, good):
    good("train", "digits", *QUICK, "--embedding-defense", "dropout", "--out", "run")
    code, _, err = privee("seal", "run", "--codes", "8")
    assert code == 2
    assert "has embedding defenses" in err

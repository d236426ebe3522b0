"""A new defense, attack, dataset, model or paper result is one new file: dropped into a copy of privee, it is found.

The files are those of docs/extending.md; its sixth, a budget policy, is in tests/gateway/budget/test_toy_policy.py.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privee
from tests._support.recipes import recipes

LABEL_TWICE = '''
import dataclasses
from typing import ClassVar

from privee.defenses.advice import Advice
from privee.defenses.label_only import LabelOnly
from privee.defenses.registry import register


@register
@dataclasses.dataclass(frozen=True)
class LabelAgain(LabelOnly):
    """The predicted class, put first."""

    name: ClassVar[str] = "label-again"
    place: ClassVar[int] = 1
    audited: ClassVar[tuple[str, ...]] = ()
    advice: ClassVar[Advice] = dataclasses.replace(LabelOnly.advice, wins="it comes first")
'''
RECIPES = {path: text for path, text in recipes().items() if not path.startswith("gateway/")}
FILES = {**RECIPES, "defenses/label_again.py": LABEL_TWICE}


DRIVER = """
import json, sys
from typer.testing import CliRunner
from privee.cli.app import app

said = {}
for line in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, line.split(), catch_exceptions=False)
    assert done.exit_code == 0, (line, done.output)
    said[line] = done.stdout

from privee.audit import Grid
said["default audit"] = " ".join((*Grid().attacks, *Grid().defenses))

from privee.bench import SIZES, Plan
board = Plan(size=SIZES["quick"])
said["leaderboard"] = " ".join((*board.attacks, *board.defenses_of(board.cases[0])))
print(json.dumps(said))
"""
"""Runs several commands in one process: most of the time goes into importing torch."""
AUDIT = "audit run --attack middle --records 5 --auxiliary 10 --seeds 1 --jobs 1 --no-pictures --out audit --json"
COMMANDS = (
    "defenses --json",
    "defenses halves",
    "recommend --classes 4 --keep class --json",
    "attacks",
    "attacks middle",
    "data list",
    "train --help",
    "train coins --model tiny-net --epochs 1 --out run",
    AUDIT,
    "paper list --json",
    "paper run answer --json",
)


def run(source: Path, *command: str, cwd: Path, expected: int = 0) -> str:
    """What a fresh interpreter says that takes privee from this folder: its error if it is to fail."""
    done = subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, *command],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(source), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stderr if expected == 2 else done.stdout


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> Path:
    """A copy of privee with one new file of each kind, and nothing else changed."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(Path(privee.__file__).parent, folder / "privee")
    for name, text in FILES.items():
        assert not (folder / "privee" / name).exists()
        (folder / "privee" / name).write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def said(source, tmp_path_factory) -> dict[str, str]:
    """What the copy's command line says, by command."""
    told = run(source, "-c", DRIVER, json.dumps(COMMANDS), cwd=tmp_path_factory.mktemp("work"))
    found: dict[str, str] = json.loads(told)
    return found


def test_the_page_has_six_recipes():
    folders = {path.rpartition("/")[0] for path in recipes()}
    assert folders == {"defenses", "attacks", "data/datasets", "vfl/models", "gateway/budget", "paper/results"}


def test_a_defense_is_listed(said):
    assert {"halves", "label-again", "none"} <= {one["spec"] for one in json.loads(said["defenses --json"])}
    assert "moved half way" in said["defenses halves"]


def test_a_defense_is_recommended_or_refused_as_it_says(said):
    found = json.loads(said["recommend --classes 4 --keep class --json"])
    assert (found["chosen"]["defense"], found["chosen"]["why"]) == ("label-again", "it comes first")
    assert "label-only" in [option["defense"] for option in found["alternatives"]]
    refused = {option["defense"]: option["why"] for option in found["not_protective"]}
    assert refused["halves"].startswith("one line undoes it; moved by")


def test_a_defense_and_an_attack_are_in_an_audit(said):
    cards = {card["defense"]: card for card in json.loads(said[AUDIT])["cards"]}
    assert cards["halves"]["adaptive"]["attack"] == "middle"
    assert "none" in cards
    assert "label-again" not in cards  # it does not ask for that
    assert {"halves", "middle"} <= set(said["default audit"].split())
    assert {"halves", "middle"} <= set(said["leaderboard"].split())


def test_an_attack_is_listed(said):
    assert "one number for every column" in said["attacks"]
    assert "value = 0.5" in said["attacks middle"]
    assert "in an audit by default: middle" in said["attacks middle"]


def test_a_dataset_is_listed_and_a_model_trained_on_it(said):
    assert "coins" in said["data list"]
    assert "logistic, mlp, resnet or tiny-net" in said["train --help"]
    assert "tiny-net" in said["train coins --model tiny-net --epochs 1 --out run"]


def test_a_paper_result_is_listed_and_measured(said):
    assert "answer" in [one["name"] for one in json.loads(said["paper list --json"])]
    assert json.loads(said["paper run answer --json"])["rows"][0]["measured"]["answer"]["value"] == 42


@pytest.mark.parametrize("breaks", [False, True])
def test_the_contract_test_covers_a_new_defense(source, tmp_path, breaks):
    """The repository's own contract test, run on the copy: it passes, and fails for one that breaks the contract."""
    if breaks:
        source = shutil.copytree(source, tmp_path / "broken")
        file = source / "privee" / "defenses" / "halves.py"
        file.write_text(file.read_text().replace("return place(", "return -place("), encoding="utf-8")
    contract = Path(__file__).parent / "defenses" / "test_contract.py"
    command = ("-m", "pytest", "-q", "-p", "no:cacheprovider", str(contract), "-k", "halves")
    told = run(source, *command, cwd=contract.parents[2], expected=int(breaks))
    assert ("failed" in told, "halves" in told) == ((True, True) if breaks else (False, False))
    assert " passed" in told


def test_a_name_that_is_taken_is_refused_in_one_line(source, tmp_path):
    twice = shutil.copytree(source, tmp_path / "twice")
    (twice / "privee" / "defenses" / "another.py").write_text(
        RECIPES["defenses/halves.py"].replace("class Halves", "class Other")
    )
    told = run(twice, "-m", "privee", "defenses", cwd=tmp_path, expected=2)
    assert told == "privee: a defense called 'halves' exists already: privee.defenses.another.Other\n"


def test_listing_defenses_loads_neither_torch_nor_the_encryption_library(source, tmp_path):
    code = (
        "import sys, privee.cli.app, privee; privee.known_defenses(); "
        "print([name for name in ('torch', 'tenseal', 'nvflare') if name in sys.modules])"
    )
    assert run(source, "-c", code, cwd=tmp_path) == "[]\n"

"""What is wrong with a command line is said before PyTorch is loaded, which takes seconds."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
from privee.cli.app import run
sys.argv = ["privee", *sys.argv[1:]]
code = run()
print("torch" in sys.modules)
sys.exit(code)
"""
TABLES = "--party bank=bank.csv --party shop=shop.csv --active bank --id customer --label risk"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (f"train {TABLES}", "party shop: shop.csv: no such file"),
        (f"train {TABLES.replace('shop.csv', 'folder')}", "party shop: folder is a folder; give a file"),
        (f"train {TABLES.replace('shop.csv', 'bank.csv')} --model nope", "no model is called 'nope'"),
        ("train --party bank=bank.csv --id customer", "which party holds the labels?"),
        ("train --party bank=bank.csv --active bank --label risk", "which column holds the ids of bank?"),
        ("train nope", "no dataset is called 'nope'; there are digits"),
        ("train digits --preset nope", "no preset is called 'nope'"),
        ("train digits --party bank=bank.csv", "name a dataset, or own tables"),
        ("tune nope", "no dataset is called 'nope'"),
        ("predict nope -d none -o o.csv", "nope is not a run: no such folder"),
        ("predict folder -d none -o o.csv", "folder is not a run: it has no config.json"),
        ("predict run -d none -o o.doc", "cannot tell the format"),
        ("predict run -d none -o bank.csv", "bank.csv exists already"),
        ("predict run -d none -o folder", "folder is a folder; give a file"),
        ("predict run -d ordered-dp -o o.csv", "ordered-dp needs epsilon"),
        ("predict run -d none -o o.csv --party bank=b.csv", "party bank: b.csv: no such file"),
        ("audit nope", "nope is not a run: no such folder"),
        ("audit bank.csv", "bank.csv is not a run: it is a file"),
        ("audit", "say what to attack"),
        ("audit run -d nope", "no defense is called 'nope'"),
        ("audit run -a nope", "no attack is called 'nope'"),
        ("audit --dataset nope", "no dataset is called 'nope'"),
        ("audit --dataset digits --model nope", "no model is called 'nope'"),
        ("bench --datasets nope", "no dataset is called 'nope'"),
        ("bench --models nope", "no model is called 'nope'"),
        ("bench -d nope", "no defense is called 'nope'"),
        ("bench -d rounding:digits=x", "digits"),
        ("bench -a nope", "no attack is called 'nope'"),
        ("attack nope", "nope is not a run"),
        ("attack --dataset digits -a nope", "no attack is called 'nope'"),
        ("attack run --releases r.csv", "r.csv: no such file"),
        ("attack run --out bank.csv", "bank.csv exists already"),
        ("budget nope", "nope is not a run: no such folder"),
        ("budget run -d nope", "no defense is called 'nope'"),
        ("budget run --out bank.csv", "cannot tell the format of bank.csv"),
        ("recommend nope", "nope is not a run"),
        ("recommend run --keep nope", "keep must be ranking"),
        ("recommend run --classes 3", "give a model or --classes, not both"),
        ("recommend --classes 1", "--classes"),
        ("report nope", "nope is missing"),
        ("report folder", "folder/audit.json is missing"),
        ("align --party bank=b.csv --active bank --id customer -o aligned", "b.csv: no such file"),
    ],
)
def test_torch_is_not_loaded_for_an_error(tmp_path, command, line):
    (tmp_path / "folder").mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")
    (tmp_path / "bank.csv").write_text("customer,risk\n1,0\n")
    before = sorted(tmp_path.rglob("*"))
    words = [sys.executable, "-c", SCRIPT, *command.split()]
    told = subprocess.run(words, cwd=tmp_path, env=os.environ, check=False, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert (told.returncode, told.stdout) == (2, "False\n"), told.stderr
    assert len(told.stderr.splitlines()) == 1
    assert line in told.stderr
    assert sorted(tmp_path.rglob("*")) == before

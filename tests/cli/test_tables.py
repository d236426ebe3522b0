"""Own tables on the command line: what was read and matched is told, and errors name party, file and cell."""

import json
import re

import pytest

from tests._support.commands import good, run

ROWS = 60
PARTIES = ["--party", "bank=bank.csv", "--party", "shop=shop.csv"]
WHO = ["--active", "bank", "--id", "customer", "--id", "shop:Kunde", "--label", "risk"]


@pytest.fixture(name="folder")
def two_tables(tmp_path):
    bank = ["customer,income,risk", *(f"{k},{k * 37 % 61}.5,{'high' if k % 3 else 'low'}" for k in range(ROWS))]
    shop = ["Kunde;Umsatz;Stadt", *(f"{k};{k * 11 % 53},25;{'NS'[k % 2]}" for k in range(ROWS + 9, 9, -1))]
    (tmp_path / "bank.csv").write_text("\n".join(bank) + "\n")
    (tmp_path / "shop.csv").write_bytes(("\n".join(shop) + "\n").encode("utf-8-sig"))
    return tmp_path


def test_a_dry_run_tells_and_trains_nothing(folder):
    said = good("train", *PARTIES, *WHO, "--out", "run", "--dry-run", "--drop", "shop:Stadt", cwd=folder)
    assert "shop.csv: semicolon, decimal comma, BOM\n" in said
    assert "shop: 60 rows, each with an id of its own, 50 of them matched, 1 features" in said
    assert re.search(r"^  Stadt +left out: as asked$", said, re.MULTILINE)
    assert "50 records are held by all parties (aligned now)" in said
    assert "40 records for training, 10 for testing" in said
    assert not (folder / "run" / "config.json").exists()
    told = json.loads(good("train", *PARTIES, *WHO, "--out", "run", "--dry-run", "--json", cwd=folder))
    assert told["alignment"] == "kept"
    assert told["parties"][1]["columns"][1] == {
        **{"name": "Stadt", "read_as": "yes/no", "values": 2, "missing": 0, "features": 2, "why": ""},
    }
    code, _, err = run("train", "digits", "--dry-run", cwd=folder)
    assert (code, err) == (2, "privee: --dry-run is for own tables; name them with --party\n")


def test_one_alignment_for_training_predictions_and_audits(folder):
    good("train", *PARTIES, *WHO, "--out", "run", "--dry-run", cwd=folder)
    code, _, err = run("train", *PARTIES, *WHO, "--out", "run", "--epochs", 1, "--model", "logistic", cwd=folder)
    assert code == 0
    assert "alignment of an earlier command" in err
    said = good("predict", "run", *PARTIES, "-d", "none", "-o", "t.csv", "--rows", "test", cwd=folder)
    assert "t.csv: 10 rows" in said
    assert re.match(r"\d+,0\.", (folder / "t.csv").read_text().splitlines()[1])  # whole numbers, as in the bank's file
    lines = (folder / "shop.csv").read_text(encoding="utf-8-sig").splitlines()
    (folder / "shop.csv").write_text("\n".join(lines[:-5]) + "\n")
    attack = ["attack", "run", *PARTIES, "-a", "equation-solving", "--records", 5, "--auxiliary", 20]
    code, _, err = run(*attack, cwd=folder)
    assert code == 0, err
    assert "other ids than before at shop: aligning again" in err
    code, _, err = run(*attack, cwd=folder)
    assert (code, "aligning" in err) == (0, False)


CELL = "customer,income,risk\n" + "".join(f"{k},{'SECRET' if k == 30 else k},{k % 2}\n" for k in range(ROWS))
MANY = "customer,income,risk\n" + "".join(f"{k},{k % 7},{k}.5\n" for k in range(ROWS))
GAPS = "customer,income,risk\n" + "".join(f"{k},{k % 7},{'' if k == 30 else k % 2}\n" for k in range(ROWS))


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        (
            {"bank.csv": CELL},
            [],
            "party bank: column 'income' of bank.csv holds numbers, but 1 of 60 cells is something",
        ),
        ({"bank.csv": CELL}, [], "or take it for a category with --categorical; it is 'SECRET'"),
        ({"bank.csv": ""}, [], "party bank: bank.csv is empty"),
        ({"bank.csv": "customer,income,risk\n"}, [], "party bank: bank.csv has no rows"),
        ({"shop.csv": "Kunde;Umsatz\n" + "".join(f"{k};7\n" for k in range(ROWS))}, [], "party shop: every feature"),
        (
            {"shop.csv": "Kunde;Umsatz\n1;2\nX9;3\n4;5\nX9;6\n"},
            [],
            "party shop: shop.csv has 1 duplicate id, 2 of 4 rows",
        ),
        ({"shop.csv": "Kunde;Umsatz\n1;2\nX9;3\n4;5\nX9;6\n"}, [], "first at data rows 2 and 4: keep one row"),
        ({"shop.csv": "Kunde;Umsatz\n1;2\nX9;3\n4;5\nX9;6\n"}, [], "; it is 'X9'"),
        ({"shop.csv": "Kunde;Umsatz\n1;2\n;3\n;5\n"}, [], "has no id at data row 2; 2 of 3 rows have none: give them"),
        ({}, [*WHO[:-1], "rsk"], "party bank: bank.csv has no column 'rsk'; did you mean 'risk'? its columns are"),
        (
            {},
            ["--active", "bank", "--id", "customer", "--label", "risk"],
            "party shop: shop.csv has no column 'customer';",
        ),
        (
            {"bank.csv": MANY},
            [],
            "50 different numbers: is each of them a class? Give --label-is class if so, or --label",
        ),
        ({"bank.csv": GAPS}, [], "1 of 50 matched records have no label, first at data row 31; give --missing-labels"),
        ({}, [*WHO, "--drop", "Umsatzz"], "did you mean 'Umsatz'?"),
        ({}, [*WHO, "--label-is", "class", "--label-threshold", 1], "give --label-is or --label-threshold"),
    ],
)
def test_what_is_wrong_is_named(folder, change, arguments, message, privee):
    for name, text in change.items():
        (folder / name).write_text(text)
    code, _, err = privee("train", *PARTIES, *(arguments or WHO), "--out", "run", "--dry-run")
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1


def test_a_folder_with_something_else_is_left_alone(folder, privee):
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.txt").write_text("precious")
    code, _, err = privee("train", *PARTIES, *WHO, "--out", "mine", "--dry-run")
    assert (code, err) == (2, "privee: mine exists and is not a run; choose another folder\n")
    assert [file.name for file in (folder / "mine").iterdir()] == ["thesis.txt"]


def test_a_folder_in_place_of_a_file(folder, privee):
    (folder / "data").mkdir()
    code, _, err = privee("train", "--party", "bank=bank.csv", "--party", "shop=data", *WHO, "--dry-run")
    assert (code, err) == (2, "privee: party shop: data is a folder; give a file\n")


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        (MANY, ["--label-threshold", 30], "labels: below 30 20, 30 or more 30"),
        (GAPS, ["--missing-labels", "drop"], "1 without a label are left out"),
        (CELL, ["--categorical", "bank:income"], "income  category, 50 values"),
        (CELL.replace(",", "|"), ["--delimiter", "bank:|", "--drop", "income", "--drop", "Umsatz"], "bank.csv: bar"),
    ],
)
def test_choices(folder, text, options, told, good):
    if "--drop" in options:
        text = "\n".join(f"{line}|{'x' if k == 0 else k}" for k, line in enumerate(text.splitlines())) + "\n"
    (folder / "bank.csv").write_text(text)
    assert told in good("train", *PARTIES, *WHO, "--out", "run", "--dry-run", *options)

"""`privee train --seal`, `privee seal` and `privee tune --seal`, from the command line to the files."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from privee.vfl.seal.records import read_codes

QUICK = ("--epochs", "6", "--learning-rate", "0.003")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A bank with labels, a shop and a clinic, each with two columns; the label needs all of them."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    count = 400
    values = {party: rng.random((count, 2)) for party in ("bank", "shop", "clinic")}
    score = values["bank"][:, 0] + 1.5 * values["shop"][:, 0] + values["clinic"][:, 0]
    labels = np.where(score + 0.1 * rng.normal(size=count) > 1.75, "yes", "no")
    for party, numbers in values.items():
        with (folder / f"{party}.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            more = ["risk"] if party == "bank" else []
            rows.writerow(["customer", f"{party}_a", f"{party}_b", *more])
            for k in rng.permutation(count):
                rows.writerow([f"c{k}", *(f"{one:.4f}" for one in numbers[k]), *([labels[k]] if more else [])])
    return folder


def parties(tables):
    return [word for name in ("bank", "shop", "clinic") for word in ("--party", f"{name}={tables / name}.csv")]


def test_three_parties_each_with_a_seal_of_its_own(told, good, tables):
    given = (*parties(tables), "--active", "bank", "--id", "customer", "--label", "risk", *QUICK)
    seals = ("--seal", "codes=4,epsilon=4,learn=own", "--seal", "clinic:codes=8")
    done = told("train", *given, *seals, "--sensitive", "shop:shop_b", "--out", "run")
    assert {name: one["codes"] for name, one in done["seals"].items()} == {"shop": 4, "clinic": 8}
    assert done["seals"]["shop"]["leaked_bits"] == pytest.approx(1.9228, abs=1e-4)
    config = json.loads(Path("run/config.json").read_text())
    assert config["seals"]["shop"]["sensitive"] == ["shop_b"]
    entities, codes = read_codes(Path("run/parties/shop"))
    assert len(entities) == 400
    assert set(codes) <= set(range(4))
    # Whoever predicts gets what the codes say, for the same records as for others.
    first = told("predict", "run", *parties(tables), "-d", "none", "--out", "one.csv")
    again = told("predict", "run", *parties(tables), "-d", "none", "--out", "two.csv")
    assert first["utility"]["release"] == again["utility"]["release"]
    assert Path("one.csv").read_text() == Path("two.csv").read_text()


def test_a_run_on_tables_is_sealed_with_the_same_records(told, good, tables):
    given = (*parties(tables), "--active", "bank", "--id", "customer", "--label", "risk", *QUICK)
    good("train", *given, "--out", "run")
    done = told("seal", "run", *parties(tables), "--codes", "8", "--only", "shop")
    assert list(done["seals"]) == ["shop"]
    plain, sealed = (json.loads(Path(name, "config.json").read_text()) for name in ("run", "run-sealed"))
    assert plain["rows"] == sealed["rows"]
    assert plain["data"] == sealed["data"]
    assert sealed["training"]["epochs"] == 2 * plain["training"]["epochs"]


def test_other_records_than_those_of_the_training_are_refused(privee, good, tables, tmp_path):
    given = (*parties(tables), "--active", "bank", "--id", "customer", "--label", "risk", *QUICK)
    good("train", *given, "--out", "run")
    lines = (tables / "shop.csv").read_text().splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-20]) + "\n")
    changed = [word if "shop=" not in word else f"shop={tmp_path / 'fewer.csv'}" for word in parties(tables)]
    code, _, err = privee("seal", "run", *changed, "--codes", "8")
    assert code == 2
    assert "these are not the records that run was trained on" in err
    assert not (tmp_path / "run-sealed").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("train", "digits", "--seal", "codes=1"), "codes of a seal must be a whole number from 2 to 256, got 1"),
        (("train", "digits", "--seal", "shop:codes=4"), "--seal names 'shop'; the passive parties are passive-1"),
        (("train", "digits", "--seal", "codes=4", "--seal", "codes=8"), "--seal is given twice for all parties"),
        (("train", "digits", "--sensitive", "age"), "give --seal as well"),
        (("train", "digits", "--seal", "codes=4", "--sensitive", "age"), "no sealed party has a column called 'age'"),
        (("seal", "nowhere", "--codes", "8"), "nowhere"),
    ],
)
def test_bad_seals_get_one_line_and_leave_nothing(privee, arguments, words, tmp_path):
    code, _, err = privee(*arguments)
    assert code != 0
    assert words in err.replace("\n", " ")
    assert len(err.strip().splitlines()) <= 3
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_the_seal_that_tells_least_and_is_good_enough(told, privee):
    found = told("tune", "digits", "--model", "logistic", "--seal", "--lose", "0.1", "--out", "seals.json")
    tried = [trial["leaked_bits"] for trial in found["trials"]]
    assert tried == sorted(tried)
    assert found["best"]["accuracy"] >= found["least"] == pytest.approx(found["unsealed"]["accuracy"] - 0.1)
    assert all(
        t["accuracy"] < found["least"] for t in found["trials"] if t["leaked_bits"] < found["best"]["leaked_bits"]
    )
    again = told("tune", "digits", "--model", "logistic", "--seal", "--lose", "0.1", "--out", "seals.json")
    assert again == found
    code, _, err = privee("tune", "digits", "--model", "mlp", "--seal", "--out", "seals.json")
    assert code == 2
    assert "holds trials of other data or settings" in err
    code, _, err = privee("tune", "digits", "--seal", "--min-accuracy", "0.999", "--out", "other.json")
    assert code == 2
    assert "below the 0.999 that is asked for" in err

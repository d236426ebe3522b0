"""`privee predict --codes`: the same predictions without a sealed party's table, weights and secret."""

import json
import shutil

import numpy as np
import pyarrow.csv as arrow_csv
import pytest

from privee.defenses import defense
from privee.errors import PriveeError
from privee.party.exporting import export_codes
from privee.vfl.experiment import train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.prediction import predict
from privee.vfl.seal import Seal
from privee.vfl.training import TrainingSettings
from tests._support.commands import run as command
from tests._support.party_world import person
from tests._support.sealed_world import EIGHT, PASSIVE, digits_world, own_ledger, shops_world, tables_of

RAW = defense("none")


def rows_of(path) -> dict[object, list[float]]:
    """Scores by id, as they were written."""
    return {row[0]: row[1:] for row in zip(*arrow_csv.read_csv(path).to_pydict().values(), strict=True)}


def without_party(run, target, party):
    """A copy of a run in which one party's folder is not there."""
    shutil.copytree(run, target)
    shutil.rmtree(target / "parties" / party)
    return target


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    folder = tmp_path_factory.mktemp("digits")
    world = digits_world(folder, {PASSIVE: EIGHT})
    export_codes(world.run / "parties" / PASSIVE, folder / "codes.parquet", own_ledger(folder / "ledger"))
    return world, {PASSIVE: folder / "codes.parquet"}


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shops")
    world = shops_world(folder)
    export_codes(world.run / "parties" / "shop", folder / "codes.parquet", own_ledger(folder / "ledger"))
    return world, {"shop": folder / "codes.parquet"}


@pytest.mark.parametrize("which", ["test", "all"])
def test_of_a_dataset(digits, which, tmp_path):
    world, codes = digits
    run = without_party(world.run, tmp_path / "run", PASSIVE)
    usual = predict(world.run, tmp_path / "usual.csv", RAW, which=which)
    alone = predict(run, tmp_path / "alone.csv", RAW, which=which, codes=codes)
    assert (tmp_path / "usual.csv").read_bytes() == (tmp_path / "alone.csv").read_bytes()
    assert alone["without_code"] == usual["without_code"] == 0
    assert {name: alone[name] for name in ("rows", "utility")} == {name: usual[name] for name in ("rows", "utility")}


def test_of_tables_of_which_one_is_not_given(shops, tmp_path):
    world, codes = shops
    files = tables_of(world.folder)
    run = without_party(world.run, tmp_path / "run", "shop")
    predict(world.run, tmp_path / "usual.csv", RAW, files=files)
    alone = predict(run, tmp_path / "alone.csv", RAW, files={"bank": files["bank"]}, codes=codes)
    assert (alone["rows"], alone["without_code"]) == (90, 0)
    usual = rows_of(tmp_path / "usual.csv")
    assert len(usual) == 90
    assert rows_of(tmp_path / "alone.csv") == usual
    some = predict(run, tmp_path / "test.csv", RAW, files={"bank": files["bank"]}, codes=codes, which="test")
    assert some["rows"] == 27


def test_records_without_a_code_are_left_out_and_counted(shops, tmp_path):
    """The bank has customers that the shop has not; and some who are new."""
    world, codes = shops
    lines = (world.folder / "bank.csv").read_text().splitlines()
    changed = [lines[0], "neu-1,300,clerk,1.0,low", *lines[5:], "neu-2,,judge,1.0,"]
    (tmp_path / "bank.csv").write_text("\n".join(changed))
    found = predict(world.run, tmp_path / "out.csv", RAW, files={"bank": tmp_path / "bank.csv"}, codes=codes)
    assert (found["rows"], found["without_code"]) == (86, 2)
    usual = predict(world.run, tmp_path / "usual.csv", RAW, files=tables_of(world.folder))
    assert usual["without_code"] == 0
    written = rows_of(tmp_path / "out.csv")
    assert set(written) == {person(k) for k in range(4, 90)}
    assert written == {one: row for one, row in rows_of(tmp_path / "usual.csv").items() if one in written}
    (tmp_path / "bank.csv").write_text(f"{lines[0]}\nneu-1,300,clerk,1.0,low\n")
    with pytest.raises(PriveeError, match="none of these records has a code"):
        predict(world.run, tmp_path / "none.csv", RAW, files={"bank": tmp_path / "bank.csv"}, codes=codes)


def test_the_others_are_aligned_among_themselves(tmp_path):
    """Three parties, one of them gone home: records are those that both others hold, by their ids."""
    shops_world(tmp_path)
    rng = np.random.default_rng(4)
    order = rng.permutation(90)
    rows = [f"{person(k)},{rng.integers(0, 40)}" for k in order]
    (tmp_path / "club.csv").write_text("\n".join(["customer,age", *rows]) + "\n")
    files = tables_of(tmp_path) | {"club": tmp_path / "club.csv"}
    data = from_tables(
        files, active="bank", id_columns=dict.fromkeys(files, "customer"), label="risk", test_share=0.3, seed=1
    )
    run = tmp_path / "three"
    settings = TrainingSettings(epochs=2, batch_size=32, learning_rate=1e-2)
    train_run(run, data, "logistic", settings, seals={"shop": Seal(codes=4, epsilon=2.0, learn="own")})
    export_codes(run / "parties" / "shop", tmp_path / "codes.parquet", own_ledger(tmp_path / "ledger"))
    (tmp_path / "fewer.csv").write_text("\n".join(["customer,age", *rows[10:], "neu-1,7"]) + "\n")
    late = {"bank": files["bank"], "club": tmp_path / "fewer.csv"}
    found = predict(run, tmp_path / "out.csv", RAW, files=late, codes={"shop": tmp_path / "codes.parquet"})
    assert (found["rows"], found["without_code"]) == (80, 0)
    predict(run, tmp_path / "usual.csv", RAW, files=late | {"shop": files["shop"]})
    assert rows_of(tmp_path / "out.csv") == rows_of(tmp_path / "usual.csv")


def test_the_command(shops, tmp_path):
    world, codes = shops
    bank, options = world.folder / "bank.csv", ("--defense", "none", "--json")
    wanted = ("--codes", f"shop={codes['shop']}", "--party", f"bank={bank}")
    code, out, err = command("predict", world.run, *wanted, *options, "--out", "out.csv", cwd=tmp_path)
    assert (code, json.loads(out)["rows"], json.loads(out)["without_code"]) == (0, 90, 0), err
    (tmp_path / "bank.csv").write_text(bank.read_text() + "neu-1,300,clerk,1.0,low\n")
    wanted = ("--codes", f"shop={codes['shop']}", "--party", "bank=bank.csv")
    code, out, err = command("predict", world.run, *wanted, "-d", "none", "--out", "more.csv", cwd=tmp_path)
    assert (code, "1 record without a code left out" in out) == (0, True), err + out


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (("--codes", "shop={codes}", "--party", "shop={shop}"), "is given with --party and with --codes"),
        (("--codes", "bank={codes}"), "no sealed party called 'bank'"),
        (("--codes", "shop={codes}"), "name new ones with --party NAME=FILE"),
        (("--codes", "shop"), "--codes takes NAME=FILE"),
        (("--codes", "shop=none.parquet"), "none.parquet"),
        (("--party", "bank={bank}"), "add --party shop=FILE"),
    ],
)
def test_what_does_not_fit_is_one_line(shops, wanted, words, tmp_path):
    world, codes = shops
    paths = tables_of(world.folder) | {"codes": codes["shop"]}
    given = [word.format(**paths) for word in wanted]
    code, _, err = command("predict", world.run, *given, "-d", "none", "--out", "out.csv", cwd=tmp_path)
    assert (code, words in err.replace("\n", " "), (tmp_path / "out.csv").exists()) == (2, True, False), err


def test_codes_of_another_version_are_refused(shops, digits, tmp_path):
    world, codes = shops
    other = shops_world(_folder(tmp_path / "other"), Seal(codes=4))
    with pytest.raises(PriveeError, match="of another party, or of another version of the model"):
        predict(other.run, tmp_path / "out.csv", RAW, files={"bank": world.folder / "bank.csv"}, codes=codes)
    with pytest.raises(PriveeError, match="of another party, or of another version of the model"):
        predict(world.run, tmp_path / "out.csv", RAW, files=None, codes={"shop": digits[1][PASSIVE]})


def _folder(path):
    path.mkdir()
    return path

"""Own tables: aligned once, read as asked, labels as asked, and described before anything is learned from them."""

import json
import shutil
import stat

import numpy as np
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from privee.data.alignment.kept import LATEST, find_kept
from privee.data.tables import ALIGNED, PartyTable
from privee.data.tables.choices import TableChoices
from privee.data.tables.label_choices import LabelChoices
from privee.vfl import matched_tables
from privee.vfl.experiment import open_run, train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.prediction import predict
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings

ROWS = 60
TINY = TrainingSettings(epochs=2, seed=3)


def write(folder, *, ids=lambda k: f"c{k:03d}", bank=range(ROWS), shop=range(10, ROWS + 10), label=None):
    """A bank with commas, a shop with semicolons and decimal commas; the shop calls its ids otherwise."""
    rng = np.random.default_rng(5)
    x, basket = rng.random((2, ROWS + 50)).round(4)
    label = label or (lambda k: "high" if x[k] + basket[k] > 1 else "low")
    lines = ["id,x,code,zero,note,risk"]
    lines += [f"{ids(k)},{x[k]},{k % 3},1,person {k},{label(k)}" for k in bank]
    (folder / "bank.csv").write_text("\n".join(lines) + "\n")
    lines = ["Kunde;Korb;leer"] + [f"{ids(k)};{str(basket[k]).replace('.', ',')};" for k in reversed(shop)]
    (folder / "shop.csv").write_text("\n".join(lines) + "\n")
    return {"bank": folder / "bank.csv", "shop": folder / "shop.csv"}


def load(files, run=None, told=None, **choices):
    label = LabelChoices(**choices.pop("label", {}))
    return from_tables(
        files,
        active="bank",
        id_columns={"bank": "id", "shop": "Kunde"},
        label="risk",
        test_share=0.25,
        seed=3,
        choices=TableChoices(label=label, **choices),
        folders=None if run is None else {name: RunFolder(run).part(name) for name in files},
        tell=(lambda line: None) if told is None else told.append,
    )


@pytest.fixture
def alignments(monkeypatch):
    """How often tables were aligned."""
    real, made = matched_tables.align, []

    def align(*arguments, **options):
        made.append(1)
        return real(*arguments, **options)

    monkeypatch.setattr(matched_tables, "align", align)
    return made


def test_one_alignment_serves_them_all(tmp_path, alignments):
    files, run = write(tmp_path), tmp_path / "run"
    looked = load(files, run)  # as `--dry-run` does
    assert {file.name for file in run.rglob("*") if file.is_file()} == {LATEST}
    data = load(files, run)
    assert (looked.report.alignment, data.report.alignment) == ("made", "kept")
    train_run(run, data, "logistic", TINY)
    assert not list(run.rglob(LATEST))  # the run's own list is the same
    for _ in range(2):
        _, again = open_run(run, files)
        assert again.ids == data.ids == looked.ids
        assert all(np.array_equal(again.columns[name], data.columns[name]) for name in files)
    assert len(alignments) == 1
    for party in files:
        assert stat.S_IMODE((run / "parties" / party / ALIGNED).stat().st_mode) == 0o600


def test_the_order_of_rows_does_not_matter_but_other_ids_do(tmp_path, alignments):
    files, run, told = write(tmp_path), tmp_path / "run", []
    train_run(run, load(files, run), "logistic", TINY)
    head, *rows = files["bank"].read_text().splitlines()
    files["bank"].write_text("\n".join([head, *reversed(rows)]) + "\n")
    before = open_run(run, files, tell=told.append)[1]
    assert (len(alignments), told) == (1, [])
    write(tmp_path, shop=range(12, ROWS + 10))
    for _ in range(2):
        after = open_run(run, files, tell=told.append)[1]
        assert after.ids == tuple(one for one in before.ids if one >= "c012")
    assert (len(alignments), told) == (2, ["other ids than before at shop: aligning again"])
    write(tmp_path)
    open_run(run, files, tell=told.append)  # the tables of the training again
    assert (len(alignments), len(told)) == (2, 1)


def test_a_party_keeps_its_own_common_ids_and_nothing_else(tmp_path):
    files, run = write(tmp_path), tmp_path / "run"
    train_run(run, load(files, run), "logistic", TINY)
    write(tmp_path, shop=range(12, ROWS + 10))
    open_run(run, files)
    only_bank, only_shop = (f"c{k:03d}".encode() for k in (5, ROWS + 5))
    for file in (file for file in run.rglob("*") if file.is_file()):
        assert only_bank not in file.read_bytes()
        assert only_shop not in file.read_bytes()
    latest = run / "parties" / "shop" / LATEST
    assert stat.S_IMODE(latest.stat().st_mode) == 0o600
    assert arrow_parquet.read_table(latest).column_names == ["Kunde"]
    assert not any((run / "coordinator").glob("*.parquet"))
    RunFolder.open(run).check_files()


@pytest.mark.parametrize("damage", ["cut", "missing", "another", "older"])
def test_a_kept_alignment_that_is_not_whole_is_not_used(tmp_path, alignments, damage):
    files, run = write(tmp_path), tmp_path / "run"
    load(files, run)
    file = run / "parties" / "shop" / LATEST
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:-20])
    elif damage == "missing":
        file.unlink()
    elif damage == "another":  # of the same tables, but the two parts do not belong together
        load(files, tmp_path / "other")
        shutil.copy(tmp_path / "other" / "parties" / "shop" / LATEST, file)
    else:
        table = arrow_parquet.read_table(file)
        arrow_parquet.write_table(table.replace_schema_metadata({"salt": "00"}), file)
    before = len(alignments)
    assert load(files, run).report.alignment == "made"
    assert len(alignments) == before + 1
    assert load(files, run).report.alignment == "kept"


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path, alignments):
    files = write(tmp_path)
    (tmp_path / "run").write_text("a file where a folder should be")
    assert load(files, tmp_path / "run").report.alignment == "made"
    assert find_kept({"bank": tmp_path / "nowhere"}, {"bank": ["a"]}).rows is None


def test_what_was_read_is_told(tmp_path):
    report = load(write(tmp_path), drop=("bank:x",), categorical=("code",)).report
    bank, shop = report.parties
    assert (bank.party, bank.file, bank.found, bank.rows, bank.matched) == ("bank", "bank.csv", ("comma",), 60, 50)
    assert (shop.found, shop.rows, shop.matched) == (("semicolon", "decimal comma"), 60, 50)
    told = {one.name: (one.read_as, one.values, one.features, one.why) for one in (*bank.columns, *shop.columns)}
    assert told == {
        "code": ("category", 3, 3, ""),
        "zero": ("left out", 1, 0, "constant"),
        "note": ("left out", 50, 0, "every value is different, like an id"),
        "x": ("left out", 0, 0, "as asked"),
        "Korb": ("number", 50, 1, ""),
        "leer": ("left out", 0, 0, "all missing"),
    }
    assert report.matched == 50 == sum(report.classes.values()) == report.train + report.test
    assert json.loads(json.dumps(report.as_dict()))["parties"][1]["duplicate_ids"] == 0
    assert "person" not in json.dumps(report.as_dict())


def test_columns_left_out_may_be_there_or_not_later(tmp_path):
    files, run = write(tmp_path), tmp_path / "run"
    train_run(run, load(files, run, drop=("note",), categorical=("bank:code",)), "logistic", TINY)
    scores = open_run(run, files)[0].scores()
    text = [line.split(",") for line in files["bank"].read_text().splitlines()]
    files["bank"].write_text("\n".join(",".join(row[:3] + row[5:]) for row in text) + "\n")  # neither zero nor note
    joint, data = open_run(run, files)
    assert np.array_equal(joint.scores(), scores)
    assert data.columns["bank"].shape[1] == 4  # x and three codes


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"drop": ("shop:Corb",)}, "shop.csv has no column 'Corb'; did you mean 'Korb'?"),
        ({"categorical": ("nothing",)}, "bank.csv and shop.csv has no column 'nothing'; its columns are x, code"),
        ({"delimiter": (",", ";")}, "which delimiter is bank's?"),
        ({"delimiter": ("shop:,",)}, "party shop: shop.csv"),
    ],
)
def test_choices_that_name_nothing(tmp_path, choices, message):
    with pytest.raises(privee.PriveeError) as caught:
        load(write(tmp_path), **choices)
    assert message in str(caught.value)


# Labels


def test_records_without_a_label_can_be_left_out(tmp_path):
    def label(k):
        return "" if k % 10 == 3 else "ab"[k % 2]

    files, run = write(tmp_path, label=label), tmp_path / "run"
    with pytest.raises(
        privee.PriveeError, match=r"party bank: label 'risk' of bank\.csv: 5 of 50 .* data row 14; give"
    ):
        load(files)
    data = load(files, run, label={"missing": "drop"})
    train_run(run, data, "logistic", TINY)
    without = {f"c{k:03d}" for k in range(13, ROWS, 10)}
    assert {one for one, label in zip(data.ids, data.labels, strict=True) if label < 0} == without
    used = {data.ids[row] for row in (*data.train, *data.test)}
    assert used == set(data.ids) - without
    assert data.report.unlabelled == 5
    _, again = open_run(run, files)
    assert {one for one, seen in zip(again.ids, again.seen, strict=True) if seen} == {
        data.ids[row] for row in data.train
    }
    predict(run, tmp_path / "out.npy", privee.defense("none"), files=files, which="test")
    assert len(np.load(tmp_path / "out.npy")) == 50 - len(data.train)  # those without a label are worth a prediction


def test_many_numbers_are_classes_only_if_somebody_says_so(tmp_path):
    files = write(tmp_path, label=lambda k: f'"{k},5"')
    with pytest.raises(privee.PriveeError, match=r"50 different numbers: .* --label-is class .* --label-threshold X"):
        load(files)
    assert len(load(files, label={"is_class": True}).class_names) == 50
    run = tmp_path / "run"
    data = load(files, run, label={"threshold": 30.5})
    assert data.class_names == ("below 30.5", "30.5 or more")
    assert (data.labels == [int(one[1:]) >= 30 for one in data.ids]).all()
    train_run(run, data, "logistic", TINY)
    write(tmp_path, label=lambda k: "no idea" if k == 20 else str(k))
    _, again = open_run(run, files)
    expected = [-1 if one == "c020" else int(int(one[1:]) >= 30.5) for one in again.ids]
    assert again.labels.tolist() == expected
    with pytest.raises(privee.PriveeError, match="must hold numbers for a threshold; data row 21 does not") as caught:
        load(files, label={"threshold": 30.5})
    assert caught.value.example == "no idea"
    with pytest.raises(privee.PriveeError, match="one side of 99"):
        load(write(tmp_path, label=str), label={"threshold": 99})


# Predictions


@pytest.mark.parametrize(("ids", "whole"), [(lambda k: 7 * k - 100, True), (lambda k: f"{k:03d}", False)])
def test_rows_and_ids_as_they_are(tmp_path, ids, whole):
    files, run = write(tmp_path, ids=ids), tmp_path / "run"
    data = load(files, run)
    train_run(run, data, "logistic", TINY)
    found = {}
    for which in ("train", "test", "all", None):
        target = tmp_path / f"{which}.parquet"
        predict(run, target, privee.defense("none"), files=files, which=which)
        found[which] = arrow_parquet.read_table(target)["id"]
        assert (str(found[which].type) == "int64") is whole
    trained = {data.ids[row] for row in data.train}
    assert {str(one) for one in found["train"].to_pylist()} == trained
    assert {str(one) for one in found["test"].to_pylist()} == set(data.ids) - trained
    assert found["all"].to_pylist() == found[None].to_pylist()
    assert [str(one) for one in found["all"].to_pylist()] == list(data.ids)
    predict(run, tmp_path / "out.csv", privee.defense("none"), files=files, which="test")
    second = (tmp_path / "out.csv").read_text().splitlines()[1]
    assert second.startswith('"') is not whole
    write(tmp_path, ids=ids, bank=range(40, ROWS), shop=range(ROWS, ROWS + 10))
    with pytest.raises(privee.PriveeError, match="no common ids"):
        predict(run, tmp_path / "x.csv", privee.defense("none"), files=files)


def test_a_table_of_ids_and_texts_alone(tmp_path):
    files = write(tmp_path)
    rows = [f"c{k:03d};word {k}" for k in range(ROWS)]
    files["shop"].write_text("Kunde;note\n" + "\n".join(rows) + "\n")
    with pytest.raises(privee.PriveeError, match="party shop: shop has no columns but ids and texts"):
        load(files)
    assert isinstance(load(write(tmp_path)).report.parties, tuple)
    assert "found" not in repr(PartyTable("bank", (), {}))


def test_free_text_and_dates_are_told_and_texts_with_many_values_can_be_asked_for(tmp_path):
    """A text that some records share is no id; still it is left out, and one that is named is taken."""
    rows = 300
    (tmp_path / "bank.csv").write_text("id,x,y\n" + "".join(f"{k},{k % 7},{k % 2}\n" for k in range(rows)))
    lines = (f"{k},note {k % 150},2024-01-{k % 28 + 1:02d},b\n" for k in range(rows))
    (tmp_path / "shop.csv").write_text("id,note,since,same\n" + "".join(lines))
    files = {name: tmp_path / f"{name}.csv" for name in ("bank", "shop")}
    told = {"active": "bank", "id_columns": dict.fromkeys(files, "id"), "label": "y", "test_share": 0.2, "seed": 0}
    data = from_tables(files, **told)
    shop = {one.name: (one.read_as, one.why) for one in data.report.parties[1].columns}
    assert shop["note"] == ("left out", "150 different texts, too many")
    assert shop["since"] == ("date", "")
    assert data.columns["shop"].shape == (rows, 1)
    asked = from_tables(files, **told, choices=TableChoices(categorical=("shop:note",)))
    assert asked.columns["shop"].shape[1] > 100

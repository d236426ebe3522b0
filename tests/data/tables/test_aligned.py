"""The aligned ids in a party's folder: exact for any text, closed, the party's own, and small for millions."""

import json
import stat

import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import privee
from privee.data.tables import ALIGNED, AlignedIds, write_aligned
from privee.vfl.experiment import describe_parties, open_run, train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.runs import RunFolder
from tests._support.party_world import TINY, make_tables, person

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
ODD = ["a\nb", "a,b", '"', "é", "e\u0301", " 7", "7", "07", "\r", "=1+1", "\U0001d518", "\0", "x" * 1000]


@given(held=st.sets(TEXT, min_size=1), asked=st.lists(TEXT))
def test_they_are_a_set(held, asked):
    ids = AlignedIds(pa.array(sorted(held, reverse=True), pa.large_string()))
    wanted = [*asked, *held, *(text + "\0" for text in held)]
    assert ids.mask(wanted).tolist() == [text in held for text in wanted]
    assert len(ids) == len(held)


def test_any_text_survives_and_nobody_else_reads_it(tmp_path):
    file = tmp_path / "party" / ALIGNED
    write_aligned(file, ODD, "the id")
    assert AlignedIds.read(file, ["another", "the id"]).mask([*ODD, "e"]).tolist() == [True] * len(ODD) + [False]
    assert arrow_parquet.read_table(file).to_pydict() == {"the id": ODD}  # readable without privee
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_checksum_does_not_confirm_a_guess_of_the_list(tmp_path):
    """The coordinator of a federation sees it, and no ids."""
    for name in ("one", "two"):
        write_aligned(tmp_path / name, ["a", "b"], "id")
    assert (tmp_path / "one").read_bytes() != (tmp_path / "two").read_bytes()


class PowerCutError(Exception):
    pass


@pytest.fixture(name="data")
def shared_tables(tmp_path):
    """The bank lacks the last ten rows, the shop the first ten."""
    make_tables(tmp_path)
    for name, rows in (("bank", slice(1, 81)), ("shop", slice(11, 91))):
        lines = (tmp_path / f"{name}.csv").read_text(encoding="utf-8").splitlines(keepends=True)
        (tmp_path / f"{name}.csv").write_text("".join([lines[0], *lines[rows]]), encoding="utf-8")
    files = {name: tmp_path / f"{name}.csv" for name in ("bank", "shop")}
    columns = dict.fromkeys(files, "customer")
    return from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)


def test_a_run_keeps_them_with_each_party_and_nowhere_else(tmp_path, data):
    run = tmp_path / "run"

    def cut(epoch, epochs, step, steps):
        raise PowerCutError

    with pytest.raises(PowerCutError):
        train_run(run, data, "logistic", TINY, on_step=cut)
    train_run(run, data, "logistic", TINY)  # goes on
    common = [person(k) for k in range(10, 80)]
    for party in ("bank", "shop"):
        file = run / "parties" / party / ALIGNED
        assert arrow_parquet.read_table(file).to_pydict() == {"customer": common}
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    holding = [file for file in run.rglob("*") if file.is_file() and b"kunde" in file.read_bytes()]
    assert {file.name for file in holding} == {ALIGNED}
    noted = json.loads((run / "config.json").read_text())["files"]
    assert {f"parties/{party}/{ALIGNED}" for party in ("bank", "shop")} <= set(noted)
    tables = {name: tmp_path / f"{name}.csv" for name in ("bank", "shop")}
    assert open_run(run, tables)[1].ids == tuple(common)
    assert describe_parties(run) == []
    (run / "parties" / "shop" / ALIGNED).unlink()
    with pytest.raises(privee.PriveeError, match=r"aligned\.parquet is missing"):
        RunFolder.open(run).check_files()

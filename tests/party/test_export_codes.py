"""Handing codes over: each charged once, ids nowhere in the file, and both files for their owner's eyes alone."""

import json
import shutil
import stat

import numpy as np
import pyarrow.parquet as arrow_parquet
import pytest

from privee.errors import PriveeError
from privee.party.exporting import export_codes
from privee.party.stores import Source
from privee.vfl.seal.code_column import CodeColumn, ColumnAbout, hashed, key_file, write_code_column
from privee.vfl.seal.records import read_codes
from tests._support.commands import run as command
from tests._support.party_world import person
from tests._support.sealed_world import own_ledger, shops_world

ABOUT = ColumnAbout("shop", "5e" * 32, "a" * 64, 8, None)


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    return shops_world(tmp_path_factory.mktemp("shops"))


@pytest.fixture
def part(shops):
    return shops.run / "parties" / "shop"


def test_it_is_charged_once(part, tmp_path):
    ledger = own_ledger(tmp_path, bits=2)
    first = export_codes(part, tmp_path / "one.parquet", ledger)
    assert (first.entities, first.charged, first.refused, first.unknown) == (90, 90, 0, 0)
    with pytest.raises(PriveeError, match="exists"):
        export_codes(part, tmp_path / "one.parquet", ledger)
    again = export_codes(part, tmp_path / "one.parquet", ledger, force=True)
    assert (again.entities, again.charged) == (90, 0)
    with ledger.existing(part) as held:
        assert held.spent(person(3)).as_dict()["bits"] == 2.0
        acts = [json.loads(entry.details) for entry in held.chain.entries() if entry.act == "answer"]
    assert [one["charged"] for one in acts] == [90, 0]


def test_the_file_has_the_codes_that_were_drawn_and_no_ids(part, tmp_path):
    target = tmp_path / "codes.parquet"
    export_codes(part, target, own_ledger(tmp_path))
    column, (ids, codes) = CodeColumn.read(target), read_codes(part)
    assert len(column) == 90
    shuffled = [ids[place] for place in np.random.default_rng(0).permutation(90)]
    found, unknown = column.find(shuffled)
    assert (found == [dict(zip(ids, codes, strict=True))[one] for one in shuffled]).all()
    assert not unknown.any()
    found, unknown = column.find(["kunde-9999", ids[4], "", ids[4] + " "])
    assert unknown.tolist() == [True, False, True, True]
    assert found[unknown].tolist() == [0, 0, 0]
    raw = target.read_bytes() + key_file(target).read_bytes()
    assert b"kunde" not in raw
    assert key_file(target).read_bytes() not in target.read_bytes()
    for path in (target, key_file(target)):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_whoever_has_the_codes_alone_cannot_try_ids(part, tmp_path):
    """Two exports of the same codes have no name in common: hashes are by a key that is drawn for each."""
    ledger = own_ledger(tmp_path)
    for name in ("one", "two"):
        export_codes(part, tmp_path / f"{name}.parquet", ledger)
    one, two = (arrow_parquet.read_table(tmp_path / f"{name}.parquet")["entity"] for name in ("one", "two"))
    assert (len(one), set(one.to_pylist()) & set(two.to_pylist())) == (90, set())


def test_those_beyond_their_limits_are_left_out_and_counted(shops, part, tmp_path):
    """Two bits for life: 30 entities gave them to another version of the model."""
    other = shops_world(_folder(tmp_path / "other"))
    ledger, ids = own_ledger(tmp_path, bits=2), [person(k) for k in range(30)]
    with ledger.open(part, _terms(other)) as held:
        held.pin(ids, _terms(other), np.zeros(30, dtype=np.uint8))
    done = export_codes(part, tmp_path / "codes.parquet", ledger)
    assert (done.entities, done.charged, done.refused) == (60, 60, 30)
    column = CodeColumn.read(tmp_path / "codes.parquet")
    assert column.find(ids)[1].all()
    assert not column.find([person(k) for k in range(30, 90)])[1].any()


def _terms(world):
    from privee.party.party_model import PartyModel
    from privee.vfl.run_format import PartyDescription

    folder = world.run / "parties" / "shop"
    return PartyModel.load(folder, PartyDescription.read(folder)).sealed


def _folder(path):
    path.mkdir()
    return path


def test_new_records_come_with_the_partys_columns(shops, part, tmp_path):
    table = tmp_path / "shop.csv"
    newer = [f"kunde-{k}" for k in range(5000, 5004)]
    table.write_text((shops.folder / "shop.csv").read_text() + "".join(f"{one},3,north\n" for one in newer))
    asked = [person(5), *newer, newer[0], "kunde-9999"]
    (tmp_path / "new.csv").write_text("customer\n" + "\n".join(asked[1:5] + asked[6:]) + "\n")
    source, ledger = Source(str(table), aligned=str(tmp_path / "new.csv")), own_ledger(tmp_path)
    done = export_codes(part, tmp_path / "codes.parquet", ledger, source=source, entities=asked)
    assert (done.entities, done.charged, done.unknown) == (94, 94, 1)
    codes, unknown = CodeColumn.read(tmp_path / "codes.parquet").find([*newer, "kunde-9999"])
    assert unknown.tolist() == [False] * 4 + [True]
    assert len(set(codes[:4].tolist())) == 1  # four records that are alike, and no noise
    with pytest.raises(PriveeError, match="give --data"):
        export_codes(part, tmp_path / "more.parquet", ledger, entities=newer)


def test_a_party_that_is_not_sealed_has_no_codes(shops, tmp_path):
    with pytest.raises(PriveeError, match="is not sealed: only codes can be handed over"):
        export_codes(shops.run / "parties" / "bank", tmp_path / "codes.parquet", own_ledger(tmp_path))
    assert not (tmp_path / "party.db").exists()


def test_the_command_tells_numbers_alone(shops, tmp_path):
    shutil.copytree(shops.run / "parties" / "shop", tmp_path / "shop")
    code, out, err = command("party", "export-codes", "shop", "--json", cwd=tmp_path)
    assert code == 0, err
    told = {"file": "codes.parquet", "entities": 90, "charged": 90, "refused": 0, "unknown": 0}
    assert json.loads(out) == told
    code, out, _ = command("party", "export-codes", "shop", "--force", cwd=tmp_path)
    assert (code, "90 codes, 0 charged now" in out, "kunde" in out) == (0, True, False)
    code, _, err = command("party", "export-codes", "shop", "--bits", "1", "--force", cwd=tmp_path)
    assert (code, "do not allow a single code" in err) == (2, True)


def test_an_entity_has_one_code(tmp_path):
    with pytest.raises(PriveeError, match="some are there twice"):
        write_code_column(tmp_path / "c.parquet", ABOUT, ["a", "b", "a"], np.zeros(3, dtype=np.uint8))
    assert not list(tmp_path.iterdir())


def test_no_codes_are_a_column_too(tmp_path):
    write_code_column(tmp_path / "c.parquet", ABOUT, [], np.zeros(0, dtype=np.uint8))
    assert CodeColumn.read(tmp_path / "c.parquet").find(["a"])[1].all()


def test_hashes_are_the_same_for_ever():
    """A file that was handed over must be read by later versions."""
    pinned = [6823909690553898035, 4127787757104286853, 15718607915346623414]
    assert hashed(bytes(range(32)), ["kunde-0001", "süd", ""]).tolist() == pinned

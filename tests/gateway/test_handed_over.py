"""Codes that were handed over in a file: what is wrong with it is told in a line, before any port is bound."""

import re
import shutil

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

from privee.defenses import defense
from privee.errors import PriveeError
from privee.gateway.service import open_service
from privee.gateway.settings import GatewaySettings
from privee.party.exporting import export_codes
from privee.processes import start_party
from privee.vfl.seal.code_column import KEY_BYTES, CodeColumn, key_file, write_code_column
from tests._support.commands import run as command
from tests._support.gateway_world import infer
from tests._support.party_world import person
from tests._support.sealed_world import PASSIVE, expected_scores, own_ledger, shops_world, tables_of


@pytest.fixture(scope="module")
def written(sealed, tmp_path_factory):
    """The passive party's codes in a file."""
    place = tmp_path_factory.mktemp("written")
    export_codes(sealed[0].run / "parties" / PASSIVE, place / "codes.parquet", own_ledger(place))
    return place / "codes.parquet"


@pytest.fixture
def file(written, tmp_path):
    """A copy to spoil."""
    for path in (written, key_file(written)):
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / written.name


def opened(sealed, file, *, name=PASSIVE, parties=("active",)):
    world, _ = sealed
    settings = GatewaySettings(
        run=world.run,
        parties=dict.fromkeys(parties, "127.0.0.1:1"),
        defense=defense("none"),
        ledger_url=world.ledger_url,
        ledger_key=world.ledger_key,
        certs=world.certs,
        codes={name: file},
    )
    return open_service(settings)


def change(file, **about):
    """Write the same codes anew, with a key of their own, as somebody else would."""
    column = arrow_parquet.read_table(file).column("code").to_numpy()
    said = CodeColumn.read(file).about._replace(**about)
    write_code_column(file, said, [str(row) for row in range(len(column))], column, force=True)


def rewrite(file, keys=None, codes=None, schema=None):
    """Other columns under what the file says of itself."""
    table = arrow_parquet.read_table(file)
    parts = [table.column("entity") if keys is None else keys, table.column("code") if codes is None else codes]
    wanted = (schema or table.schema).with_metadata(table.schema.metadata)
    arrow_parquet.write_table(pa.table(parts, schema=wanted), file, compression="none")


def column(file, name):
    return arrow_parquet.read_table(file).column(name).to_numpy().copy()


def another_code(file):
    codes = column(file, "code")
    codes[5] ^= 1
    rewrite(file, codes=pa.array(codes))


def beyond(file):
    codes = column(file, "code")
    codes[5] = 8
    rewrite(file, codes=pa.array(codes))


def twice(file):
    keys = column(file, "entity")
    keys[5] = keys[6]
    rewrite(file, keys=pa.array(keys))


def nobodys(file):
    arrow_parquet.write_table(pa.table({"entity": [1], "code": [2]}), file)


def wide(file):
    schema = pa.schema([("entity", pa.uint64()), ("code", pa.int64())])
    rewrite(file, codes=pa.array(column(file, "code").astype(np.int64) + 256), schema=schema)


def empty_places(file):
    codes = column(file, "code")
    rewrite(file, codes=pa.array(codes, mask=np.arange(len(codes)) == 5))


SPOILED = {
    "of another party": (lambda file: change(file, party="passive-2"), "codes of another party, or of another version"),
    "of another version": (lambda file: change(file, weights="0" * 64), "of another party, or of another version"),
    "of another seal": (lambda file: change(file, codes=16), "of another party, or of another version"),
    "cut off": (lambda file: file.write_bytes(file.read_bytes()[:-9]), "is no column of codes"),
    "half of it": (lambda file: file.write_bytes(file.read_bytes()[:5000]), "is no column of codes"),
    "empty": (lambda file: file.write_bytes(b""), "is no column of codes"),
    "something else": (lambda file: file.write_text("entity,code\n1,2\n"), "is no column of codes"),
    "no party's": (nobodys, "is no column of codes"),
    "not in order": (lambda file: rewrite(file, keys=pa.array(column(file, "entity")[::-1])), "is damaged"),
    "an entity twice": (twice, "is damaged"),
    "a code beyond all": (beyond, "is damaged"),
    "codes that are no bytes": (wide, "is no column of codes"),
    "a code is missing": (empty_places, "is no column of codes"),
    "another code": (another_code, "was changed since the party wrote it"),
    "without its key": (lambda file: key_file(file).unlink(), "is missing, or cannot be read: it is the key of"),
    "a key for all to read": (lambda file: key_file(file).chmod(0o640), "can be read by others: chmod 600"),
    "another key": (lambda file: key_file(file).write_bytes(b"k" * KEY_BYTES), "is not the key of"),
    "half a key": (lambda file: key_file(file).write_bytes(b"k" * 16), "is not the key of"),
    "not there": (lambda file: file.unlink(), "is missing"),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_file_that_is_not_right_is_refused_at_the_start(sealed, file, how):
    spoil, words = SPOILED[how]
    spoil(file)
    with pytest.raises(PriveeError, match=re.escape(words)) as caught:
        opened(sealed, file)
    assert "\n" not in str(caught.value)


def test_a_good_one_is_taken_once_and_for_the_sealed_party_alone(sealed, file):
    service = opened(sealed, file)
    service.ledger.close()
    with pytest.raises(PriveeError, match="with --party and with --codes; one of the two"):
        opened(sealed, file, parties=("active", PASSIVE))
    with pytest.raises(PriveeError, match="no sealed party called 'active'"):
        opened(sealed, file, name="active", parties=(PASSIVE,))


def test_the_command_says_so_in_one_line_and_binds_nothing(sealed, file):
    world, _ = sealed
    key_file(file).chmod(0o644)
    ready = file.with_name("ready")
    options = ("--codes", f"{PASSIVE}={file}", "--party", "active=127.0.0.1:1", "--ready-file", ready, "--port", 0)
    ledger = ("--ledger", world.ledger_url, "--ledger-key", world.ledger_key)
    code, out, err = command("gateway", "serve", world.run, "-d", "none", *options, *ledger, cwd=file.parent)
    assert (code, out, ready.exists()) == (2, "", False)
    assert "can be read by others: chmod 600 codes.parquet.key" in err
    assert "Traceback" not in err


@pytest.fixture(scope="module")
def shops(tmp_path_factory):
    return shops_world(tmp_path_factory.mktemp("shops"))


def test_processes_without_the_sealed_partys_server_and_what_their_logs_tell(shops):
    """As docs/gateway.md has it: exported once, then a bank and a gateway alone. Ids are names, so that they show."""
    folder, ids = shops.folder, [person(k) for k in range(90)]
    target = folder / "shop-codes.parquet"
    code, out, err = command("party", "export-codes", shops.run / "parties" / "shop", "--out", target, cwd=folder)
    assert (code, "90 codes, 90 charged now" in out) == (0, True), err
    expected = expected_scores(shops, tables_of(folder))
    served = ("--data", str(folder / "bank.csv"))
    bank = start_party(shops.run / "parties" / "bank", served, shops.certs / "bank", folder / "bank.log")
    with bank:
        options = ("-d", "none", "--codes", f"shop={target}")
        with shops.gateway({"bank": bank.wait_ready().address}, options) as gateway:
            gateway.wait_ready()
            headers = {"Authorization": f"Bearer {shops.api_key('consumer')}"}
            with httpx.Client(base_url=gateway.address, headers=headers) as client:
                answer = infer(client, *ids)
                assert infer(client, "kunde-9999").status_code == 404
    assert answer.status_code == 200, answer.text
    released = np.array(answer.json()["outputs"][0]["data"]).reshape(90, -1)
    assert np.allclose(released, expected, atol=1e-6)
    logs = "".join((folder / f"{name}.log").read_text() for name in ("bank", "gateway"))
    assert '"entities": 90' in logs
    assert "kunde" not in logs + out
    keys, codes = arrow_parquet.read_table(target).columns
    assert not [key for key in keys.to_pylist() if str(key) in logs]
    assert str(codes.to_pylist()) not in logs

"""Files that appear whole or not at all, memory that does not grow with them, and columns that never slip through."""

import ast
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest

import privee
from privee.atomic import private_folder, whole_file
from privee.data.score_files import choose_columns


def test_whole_file_appears_only_at_the_end(tmp_path):
    target = tmp_path / "x"
    with whole_file(target) as partial:
        partial.write_text("half")
        assert not target.exists()
    assert target.read_text() == "half"
    assert os.listdir(tmp_path) == ["x"]


def test_whole_file_leaves_nothing_after_an_error(tmp_path):
    def fail():
        with whole_file(tmp_path / "x") as partial:
            partial.write_text("half")
            raise RuntimeError("disk on fire")

    with pytest.raises(RuntimeError, match="disk on fire"):
        fail()
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("links", [True, False])
def test_whole_file_never_replaces_a_file_that_appeared_meanwhile(tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no hard links here")))
    target = tmp_path / "x"

    def race():
        with whole_file(target) as partial:
            partial.write_text("mine")
            target.write_text("theirs")

    with pytest.raises(privee.PriveeError, match="exists already"):
        race()
    assert target.read_text() == "theirs"
    with whole_file(target, force=True) as partial:
        partial.write_text("mine")
    assert target.read_text() == "mine"


def test_a_name_outlives_a_power_cut(tmp_path, monkeypatch):
    """The folder is synced too, once the file has its name: without that the name can be lost, and the key with it."""
    synced, sync = [], os.fsync

    def spy(handle):
        sync(handle)
        synced.append((os.fstat(handle).st_ino, target.exists()))

    monkeypatch.setattr(os, "fsync", spy)
    for force in (False, True):
        target = tmp_path / f"x{force}"
        with whole_file(target, force=force) as partial:
            partial.write_text("all")
        assert synced[-2:] == [(target.stat().st_ino, False), (tmp_path.stat().st_ino, True)]
    target = tmp_path / "a" / "b" / "c"
    private_folder(target)
    assert [inode for inode, _ in synced[-3:]] == [folder.stat().st_ino for folder in reversed(target.parents[:3])]


SECRETS = """
import os, sys
from pathlib import Path
from privee.baselines.ope.frequency_hiding_state import write_sealed
from privee.gateway.ledger.private_files import key_file
from privee.pki.certificates import init_certificates

folder, seen, looking = Path(sys.argv[1]), set(), False

def look(*_):
    global looking
    if looking:
        return
    looking = True
    for path in folder.rglob("*"):
        if "cert.pem" not in path.name and "ca.pem" not in path.name:
            seen.add((path.name.strip(".").split(".")[0], oct(path.stat().st_mode & 0o777)))
    looking = False

os.umask(int(sys.argv[2], 8))
sys.addaudithook(look)  # called before every file is opened, linked, renamed, or changes its mode
with key_file(folder / "ledger.key"):
    look()
write_sealed(folder / "release.state", b"k" * 32, b"label", b"body")
init_certificates(folder / "certs", ["bank"], [])
look()
print(sorted(seen))
"""


@pytest.mark.skipif(os.name != "posix", reason="modes of files")
@pytest.mark.parametrize("umask", ["0", "022"])
def test_a_secrets_file_is_closed_from_the_first_moment(tmp_path, umask):
    """Whoever opens it before its mode is narrowed can read the key afterwards."""
    told = subprocess.check_output([sys.executable, "-c", SECRETS, tmp_path, umask], text=True)  # noqa: S603
    seen = ast.literal_eval(told)
    assert {mode for _, mode in seen} == {"0o600", "0o700"}
    assert {"ledger", "release", "ca", "key", "bank", "certs"} <= {name for name, _ in seen}


@pytest.mark.parametrize(
    ("names", "keep", "scores", "expected"),
    [
        (["a", "b"], (), (), (["a", "b"], [])),
        (["ID", "x_id", "a", "b"], (), (), (["a", "b"], ["ID", "x_id"])),
        (["name", "p_1", "p_2"], ("name",), (), (["p_1", "p_2"], ["name"])),
        (["name", "p_1", "p_2"], ("n*",), ("p_*",), (["p_1", "p_2"], ["name"])),
        (["grid_id", "b"], (), ("grid_id", "b"), (["grid_id", "b"], [])),
    ],
)
def test_columns(names, keep, scores, expected):
    assert tuple(choose_columns(names, keep, scores)) == expected


def test_a_numeric_column_is_never_passed_through_unasked():
    assert "raw_score" in choose_columns(["id", "raw_score", "a"]).scores
    with pytest.raises(privee.PriveeError, match="raw_score would be lost"):
        choose_columns(["id", "raw_score", "a", "b"], scores=["a", "b"])


def _write_parquet(path, rows: int) -> None:
    schema = pa.schema([(f"p{k}", pa.float64()) for k in range(10)])
    block = pa.table(
        {f"p{k}": np.full(100_000, 0.1) + 1e-9 * np.random.default_rng(k).random(100_000) for k in range(10)}
    )
    with arrow_parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for _ in range(rows // 100_000):
            writer.write_table(block)


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Sixteen times the rows (8 MB and 128 MB) may cost at most 48 MB more; read at once it would be 240 MB more."""
    peaks = []
    for rows in (100_000, 1_600_000):
        _write_parquet(tmp_path / "s.parquet", rows)
        command = [
            sys.executable,
            "-m",
            "privee",
            "protect",
            "s.parquet",
            "-d",
            "privee-u:rho=0.1",
            "-o",
            "o.parquet",
            "-f",
        ]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)  # noqa: S603
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 48

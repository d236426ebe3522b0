"""Files that appear whole or not at all."""

import ast
import os
import subprocess
import sys

import pytest

import privee
from privee.atomic import private_folder, whole_file


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
from privee.durable.private_files import key_file
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
    pytest.importorskip("sqlalchemy", reason="one of the secrets is the ledger's")
    told = subprocess.check_output([sys.executable, "-c", SECRETS, tmp_path, umask], text=True)  # noqa: S603
    seen = ast.literal_eval(told)
    assert {mode for _, mode in seen} == {"0o600", "0o700"}
    assert {"ledger", "release", "ca", "key", "bank", "certs"} <= {name for name, _ in seen}

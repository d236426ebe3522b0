"""Private keys of a project: closed to others from the first moment, and none beside those in the kits."""

import os
import stat
import sys
from pathlib import Path

import pytest
from benchmarks._shared.federation_jobs import digits_job
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from privee.federation.kits.project import create_project

OTHERS = stat.S_IRWXG | stat.S_IRWXO
watched: dict[str, set[Path]] = {}


def watch(event: str, arguments: tuple) -> None:
    """Note every file that is opened below a watched folder while no folder above it is closed to others."""
    if event != "open" or not watched or not isinstance(arguments[0], str | os.PathLike):
        return
    path = Path(os.path.abspath(arguments[0]))
    for folder, open_ones in watched.items():
        if path.is_relative_to(folder):
            above = [one for one in path.parents if one.is_relative_to(folder) and one.exists()]
            if above and all(one.stat().st_mode & OTHERS for one in above):
                open_ones.add(path)


sys.addaudithook(watch)  # cannot be taken away again; without a watched folder it does nothing


@pytest.fixture(scope="module", params=["new", "there"])
def made(request, tmp_path_factory):
    """A project made under the usual umask, in a new folder or one that is there and open."""
    before, folder = os.umask(0o022), tmp_path_factory.mktemp("keys") / "project"
    if request.param == "there":
        folder.mkdir()
    watched[str(folder)] = set()
    try:
        return create_project(folder, digits_job("logistic", 2)), watched[str(folder)]
    finally:
        os.umask(before)
        del watched[str(folder)]


def holds_key(path: Path) -> bool:
    return b"PRIVATE KEY" in path.read_bytes()


def test_nothing_with_a_private_key_is_open_to_others(made):
    project, opened = made
    files = [path for path in project.folder.rglob("*") if path.is_file()]
    keys = [path for path in files if holds_key(path)]
    assert sorted(path.name for path in keys) == ["client.key"] * 3 + ["server.key"]
    for path in keys:
        load_pem_private_key(path.read_bytes(), None)
        assert path.stat().st_mode & OTHERS == 0
        assert path.parents[1].stat().st_mode & OTHERS == 0  # the kit
    assert project.folder.stat().st_mode & OTHERS == 0
    assert opened == set()


def test_the_key_that_signed_them_is_not_kept(made):
    project, _ = made
    assert sorted(path.name for path in project.folder.iterdir()) == ["kits", "project.json"]

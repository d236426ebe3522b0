"""Downloads from a real server on this machine, good and bad."""

import hashlib
import socket
from dataclasses import replace

import pytest

from privee import PriveeError
from privee.data.datasets import DataFile, dataset_info, fetch_dataset, load_dataset
from privee.data.datasets import fetch as fetching
from privee.data.datasets.fetch import download, download_files
from privee.data.datasets.info import DATASETS
from privee.data.datasets.load import cache_folder
from tests._support.dataset_server import (
    CONTENTS,
    files_below,
    host,
    pinned,
    running_server,
    small_adult,
)


@pytest.fixture
def server():
    with running_server() as running:
        yield running


# --- one file ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["good", "moved"])
def test_a_good_download_is_whole(server, tmp_path, what):
    path = download(pinned(server, what), tmp_path / "a" / "b")
    assert path == tmp_path / "a" / "b" / "file.bin"
    assert path.read_bytes() == CONTENTS
    assert files_below(tmp_path) == ["file.bin"]


def test_a_server_that_sends_without_end_is_left(server, tmp_path):
    server.files["file.bin"] = CONTENTS * 20
    with pytest.raises(PriveeError, match=r"sends more than file\.bin has; nothing is kept"):
        download(pinned(server, "good"), tmp_path)
    assert files_below(tmp_path) == []


def test_progress_counts_bytes_over_all_files(server, tmp_path):
    server.files["second.bin"] = CONTENTS[:70_000]
    told = []
    files = [pinned(server, "good"), pinned(server, "good", "second.bin", CONTENTS[:70_000])]
    download_files(files, tmp_path, lambda done, size: told.append((done, size)))
    size = len(CONTENTS) + 70_000
    assert {total for _, total in told} == {size}
    done = [count for count, _ in told]
    assert done == sorted(done)
    assert done[-1] == size
    assert 0 < done[0] < len(CONTENTS) / 2
    assert len(CONTENTS) in done


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("changed", "HOST sent something else as file.bin: sha256 is ACTUAL, expected EXPECTED; nothing is kept"),
        ("dropped", "the connection to HOST broke while file.bin was fetched"),
        ("missing", "HOST answered 404 to the request for file.bin"),
        ("silent", "HOST did not answer in time to the request for file.bin"),
    ],
)
@pytest.mark.parametrize("earlier", [False, True])
def test_a_bad_download_leaves_nothing_and_says_why(server, tmp_path, monkeypatch, what, words, earlier):
    monkeypatch.setattr(fetching, "TIMEOUT_SECONDS", 0.3)
    if what == "missing":
        server.files.clear()
    if earlier:  # what was there before stays
        (tmp_path / "file.bin").write_bytes(b"earlier")
    file = pinned(server, what)
    with pytest.raises(PriveeError) as caught:
        download(file, tmp_path)
    for mark, value in (
        ("HOST", host(server)),
        ("ACTUAL", hashlib.sha256(CONTENTS[::-1]).hexdigest()),
        ("EXPECTED", file.sha256),
    ):
        words = words.replace(mark, value)
    assert str(caught.value) == words
    assert len(server.requests) == 1
    assert files_below(tmp_path) == (["file.bin"] if earlier else [])
    if earlier:
        assert (tmp_path / "file.bin").read_bytes() == b"earlier"


def test_an_interrupted_download_leaves_nothing(server, tmp_path):
    def interrupt(done: int, size: int) -> None:
        assert [path.endswith(".partial") for path in files_below(tmp_path)] == [True]  # it had begun
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        download_files([pinned(server, "good")], tmp_path, interrupt)
    assert files_below(tmp_path) == []


def test_a_refused_connection(tmp_path):
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody_listens.getsockname()[1]}"
        file = DataFile(name="file.bin", sha256="0" * 64, size=1, url=f"http://{address}/file.bin")
        with pytest.raises(PriveeError, match=rf"no connection to {address}, needed for file\.bin"):
            download(file, tmp_path)
    assert files_below(tmp_path) == []


@pytest.fixture
def adult(server, monkeypatch):
    return small_adult(server, monkeypatch)


def test_load_downloads_once_and_reads_what_it_got(server, adult):
    adult("good")
    data = load_dataset("adult")
    assert data.source == f"official files in {cache_folder() / 'adult'}"
    assert files_below(cache_folder()) == ["adult.data", "adult.test"]
    assert (data.x_train.shape, data.x_test.shape) == ((3, 16), (3, 16))
    assert data.x_train[:, 0].tolist() == [0, 1, 0.5]
    assert data.x_train[:, list(data.groups[1])].tolist() == [[0, 1], [1, 0], [0, 1]]  # "?" comes before "Private"
    assert data.y_train.tolist() == data.y_test.tolist() == [0, 1, 0]
    again = load_dataset("adult", fetch=False)
    assert (again.x_train == data.x_train).all()
    assert len(server.requests) == 2


def test_fetch_false_asks_nobody(server, adult):
    adult("good")
    with pytest.raises(PriveeError, match="adult is not here: run `privee data fetch adult`"):
        load_dataset("adult", fetch=False)
    assert server.requests == []


def test_fetch_goes_on_where_it_broke(server, adult):
    adult("dropped")
    with pytest.raises(PriveeError) as caught:
        fetch_dataset("adult")
    assert str(caught.value) == (
        f"the connection to {host(server)} broke while adult.test was fetched; try again later, "
        "or set PRIVEE_DATA_DIR to a folder with adult.data, adult.test"
    )
    assert files_below(cache_folder()) == ["adult.data"]  # whole and verified
    adult("good")
    told = []
    assert fetch_dataset("adult", progress=lambda *count: told.append(count)).status == "fetched"
    size = len(server.files["adult.test"])
    assert told[-1] == (size, size)
    assert [path.rpartition("/")[2] for path in server.requests] == ["adult.data", "adult.test", "adult.test"]
    assert fetch_dataset("adult").status == "already here"
    assert len(server.requests) == 3


@pytest.mark.parametrize("function", [load_dataset, fetch_dataset])
def test_a_file_that_broke_in_the_cache_is_refused(server, adult, function):
    adult("good")
    fetch_dataset("adult")
    path = cache_folder() / "adult" / "adult.test"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(PriveeError, match=r"adult\.test is broken or was changed: .*remove it and fetch it again"):
        function("adult")
    path.unlink()
    function("adult")
    assert len(server.requests) == 3


def test_a_failed_download_still_names_the_python_archive(server, tmp_path, monkeypatch):
    info = dataset_info("cifar10")
    official = replace(info.layouts[0], files=(pinned(server, "good", "cifar-10-binary.tar.gz"),))
    monkeypatch.setitem(DATASETS._known, "cifar10", replace(info, layouts=(official,)))
    (tmp_path / "cifar-10-python.tar.gz").touch()
    with pytest.raises(PriveeError, match=r"answered 404 .*cifar-10-python\.tar\.gz is not read: python archives"):
        load_dataset("cifar10", data_dir=tmp_path)


def test_every_public_dataset_has_a_home():
    for name in ("mnist", "cifar10", "cifar100", "drive", "adult"):
        files = dataset_info(name).layouts[0].files
        assert dataset_info(name).layouts[0].downloadable
        for file in files:
            assert file.url.startswith("https://")
            assert file.url.endswith(f"/{file.name}")
            assert len(file.sha256) == 64
            assert len(file.md5) == 32

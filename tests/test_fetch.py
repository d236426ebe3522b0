"""Downloads from a real server on this machine, good and bad, and `privee data`."""

import gzip
import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from privee import PriveeError
from privee.cli.app import app as whole_app
from privee.cli.data import app
from privee.data.datasets import DataFile, dataset_info, fetch_dataset, load_dataset, registry
from privee.data.datasets import fetch as fetching
from privee.data.datasets.fetch import download, download_files
from privee.data.datasets.load import cache_folder

CONTENTS = bytes(range(256)) * 2000  # several chunks


class Handler(BaseHTTPRequestHandler):
    """The first part of a path says what goes wrong, the last one which file is asked for."""

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        what, name = self.path.strip("/").split("/")
        contents = self.server.files.get(name)
        if what == "silent":
            self.server.stop.wait(10)
        elif what == "moved":
            self.send_response(302)
            self.send_header("Location", f"/good/{name}")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif contents is None:
            self.send_error(404)
        else:
            self._answer(what, contents)

    def _answer(self, what: str, contents: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(contents)))
        self.end_headers()
        if what == "dropped":
            self.wfile.write(contents[: len(contents) // 2])
            self.close_connection = True
        else:
            self.wfile.write(contents[::-1] if what == "changed" else contents)

    def log_message(self, *_: object) -> None:
        """Silence."""


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.requests, running.stop = {"file.bin": CONTENTS}, [], threading.Event()
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.stop.set()
        running.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("PRIVEE_DATA_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    if tmp_path not in cache_folder().parents:
        pytest.skip("the cache folder does not follow XDG_CACHE_HOME here")


def host(server: ThreadingHTTPServer) -> str:
    return f"127.0.0.1:{server.server_port}"


def pinned(server: ThreadingHTTPServer, what: str, name: str = "file.bin", contents: bytes = CONTENTS) -> DataFile:
    sha256 = hashlib.sha256(contents).hexdigest()
    return DataFile(name=name, sha256=sha256, size=len(contents), url=f"http://{host(server)}/{what}/{name}")


def files_below(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*") if not path.is_dir())


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


# --- whole datasets ---------------------------------------------------------------------------------------------------

ROW = "{age}, {work}, 77516, Bachelors, 13, Never-married, Sales, {tie}, White, Male, 0, 0, 40, Cuba, {income}\n"


def _adult(incomes: tuple[str, str], first: str = "") -> bytes:
    """A small table of the official form; people made up here."""
    ages, works, ties = (20, 60, 40), ("Private", "?", "Private"), ("Husband", "Wife", "Husband")
    rows = zip(ages, works, ties, (*incomes, incomes[0]), strict=True)
    text = "".join(ROW.format(age=age, work=work, tie=tie, income=income) for age, work, tie, income in rows)
    return f"{first}{text}\n".encode()


@pytest.fixture
def adult(server, monkeypatch):
    """A small Adult on the server, pinned in the registry. Call it with what should go wrong with the second file."""
    contents = {
        "adult.data": _adult(("<=50K", ">50K")),
        "adult.test": _adult(("<=50K.", ">50K."), "|1x3 Cross validator\n"),
    }
    server.files.update(contents)

    def pin(what: str) -> None:
        info = dataset_info("adult")
        files = tuple(
            pinned(server, "good" if name == "adult.data" else what, name, text) for name, text in contents.items()
        )
        changed = replace(info, layouts=(replace(info.layouts[0], files=files), *info.layouts[1:]))
        monkeypatch.setitem(registry._known, "adult", changed)

    return pin


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
    monkeypatch.setitem(registry._known, "cifar10", replace(info, layouts=(official,)))
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


# --- privee data ------------------------------------------------------------------------------------------------------


def run(*arguments: object):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "160"})
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_says_where_each_dataset_is(server, adult):
    adult("good")
    lines = {line.split()[1]: line for line in run("list").splitlines() if line.startswith("│")}
    assert "embedded" in lines["digits"]
    assert "1,797" in lines["digits"]
    assert "not here" in lines["adult"]
    assert "CC BY 4.0" in lines["adult"]
    run("fetch", "adult")
    found = {one["name"]: one for one in json.loads(run("list", "--json"))}
    assert found["adult"]["where"] == "found"
    assert found["adult"]["source"] == f"official files in {cache_folder() / 'adult'}"
    assert (found["adult"]["rows"], found["adult"]["columns"], found["adult"]["classes"]) == (48_842, 14, 2)
    assert found["mnist"]["where"] == "not here"
    assert found["breast-cancer"]["embedded"] is True


def test_fetch_can_be_repeated(server, adult):
    adult("good")
    assert run("fetch", "adult", "digits").splitlines() == [
        f"adult: fetched, official files in {cache_folder() / 'adult'}",
        "digits: embedded, scikit-learn's bundled copy",
    ]
    (again,) = json.loads(run("fetch", "adult", "--json"))
    assert again["status"] == "already here"
    assert again["paths"] == [str(cache_folder() / "adult" / name) for name in ("adult.data", "adult.test")]
    assert len(server.requests) == 2
    with pytest.raises(PriveeError, match="no dataset is called 'nope'"):
        run("fetch", "nope")


def test_info_of_a_dataset_that_is_not_here_and_then_is(server, adult, tmp_path):
    adult("good")
    text = run("info", "adult")
    assert "here: no" in text
    assert "fetch it with: privee data fetch adult" in text
    assert server.requests == []
    for name in ("adult.data", "adult.test"):
        (tmp_path / name).write_bytes(server.files[name])
    text = run("info", "adult", "--data-dir", tmp_path)
    assert f"here: official files in {tmp_path}" in text
    assert f"sha256 {hashlib.sha256(server.files['adult.data']).hexdigest()}" in text
    assert "training (3, 16), test (3, 16), 16 features in [0, 1]" in text
    facts = json.loads(run("info", "adult", "--data-dir", tmp_path, "--json"))
    assert facts["train_counts"] == facts["test_counts"] == {"<=50K": 2, ">50K": 1}
    assert facts["x_train"] == [3, 16]
    (tmp_path / "adult.data").write_bytes(b"something else")
    with pytest.raises(PriveeError, match=r"adult\.data is broken or was changed"):
        run("info", "adult", "--data-dir", tmp_path)


def test_info_of_an_embedded_dataset():
    facts = json.loads(run("info", "digits", "--json"))
    assert facts["where"] == "embedded"
    assert sum(facts["train_counts"].values()) + sum(facts["test_counts"].values()) == 1797
    assert facts["features"] == 64


registered = pytest.mark.skipif(
    "data" not in [group.name for group in whole_app.registered_groups], reason="`privee data` is not registered yet"
)


@registered
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "nope"], "no dataset is called 'nope'"),
        (["info", "adult", "--data-dir", "nowhere"], "the data folder is set to nowhere, which is not a folder"),
        (["info", "adult", "--data-dir", "broken"], "adult.data.gz is broken or was changed"),
        (["fetch"], "Missing argument"),
    ],
)
def test_as_a_process_bad_input_gets_one_line(tmp_path, arguments, message):
    (tmp_path / "broken").mkdir()
    for name in ("adult.data.gz", "adult.test.gz"):
        (tmp_path / "broken" / name).write_bytes(gzip.compress(b"39, Private\n"))
    done = _process(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr


@registered
def test_as_a_process(tmp_path):
    listed = _process("list", "--json", cwd=tmp_path)
    assert listed.returncode == 0, listed.stderr
    assert {one["name"]: one["where"] for one in json.loads(listed.stdout)}["digits"] == "embedded"
    helped = _process("fetch", "--help", cwd=tmp_path)
    assert "Example: privee data fetch mnist adult" in " ".join(helped.stdout.split())


def _process(*arguments: str, cwd: Path) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if k not in {"FORCE_COLOR", "CLICOLOR_FORCE"}}
    environment = clean | {"COLUMNS": "120", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "privee", "data", *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603

"""A server of files on this machine, good and bad, and folders of the tests' own."""

import contextlib
import hashlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from privee.data.datasets import DataFile, dataset_info
from privee.data.datasets.info import DATASETS
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


@contextlib.contextmanager
def running_server() -> Iterator[ThreadingHTTPServer]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files, running.requests, running.stop = {"file.bin": CONTENTS}, [], threading.Event()
        thread = threading.Thread(target=running.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield running
        running.stop.set()
        running.shutdown()
        thread.join()


def use_own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


ROW = "{age}, {work}, 77516, Bachelors, 13, Never-married, Sales, {tie}, White, Male, 0, 0, 40, Cuba, {income}\n"


def adult_table(incomes: tuple[str, str], first: str = "") -> bytes:
    """A small table of the official form; people made up here."""
    ages, works, ties = (20, 60, 40), ("Private", "?", "Private"), ("Husband", "Wife", "Husband")
    rows = zip(ages, works, ties, (*incomes, incomes[0]), strict=True)
    text = "".join(ROW.format(age=age, work=work, tie=tie, income=income) for age, work, tie, income in rows)
    return f"{first}{text}\n".encode()


def small_adult(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A small Adult on the server; call the result to pin it, with what should go wrong with its second file."""
    contents = {
        "adult.data": adult_table(("<=50K", ">50K")),
        "adult.test": adult_table(("<=50K.", ">50K."), "|1x3 Cross validator\n"),
    }
    server.files.update(contents)

    def pin(what: str) -> None:
        info = dataset_info("adult")
        files = tuple(
            pinned(server, "good" if name == "adult.data" else what, name, text) for name, text in contents.items()
        )
        changed = replace(info, layouts=(replace(info.layouts[0], files=files), *info.layouts[1:]))
        monkeypatch.setitem(DATASETS._known, "adult", changed)

    return pin

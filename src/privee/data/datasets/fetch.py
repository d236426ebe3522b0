"""Files that are what they claim to be: every read is checked against a pinned checksum, every download too."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from privee.atomic import whole_file
from privee.data.datasets.info import DataFile
from privee.errors import PriveeError
from privee.extras import needed
from privee.progress import Progress

CHUNK_BYTES = 1 << 16
TIMEOUT_SECONDS = 30


def verified_bytes(path: Path, file: DataFile) -> bytes:
    """The contents of a file, or an error if they are not the pinned ones.

    What is checked is what is returned: the file is read once, so it cannot change in between.
    """
    with path.open("rb") as opened:
        contents = opened.read(file.size + 1)  # whatever it is, it takes no more memory than what it should be
    if len(contents) > file.size:
        raise PriveeError(
            f"{path} is broken or was changed: larger than {file.size:,} bytes; remove it and fetch it again"
        )
    actual = hashlib.sha256(contents).hexdigest()
    if actual != file.sha256:
        raise PriveeError(
            f"{path} is broken or was changed: sha256 is {actual}, expected {file.sha256}; remove it and fetch it again"
        )
    return contents


def download_files(files: Sequence[DataFile], folder: Path, progress: Progress | None = None) -> None:
    """Download files into a folder; `progress` is called with bytes done and bytes in all."""
    size, before = sum(file.size for file in files), 0
    for file in files:
        download(file, folder, _Bar(file, before, size, progress))
        before += file.size


def download(file: DataFile, folder: Path, bar: Any = None) -> Path:
    """Download one file; it appears in `folder` whole and verified, or not at all. `bar` is one that pooch takes."""
    requests = needed("requests", "pooch")
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / file.name
    with whole_file(target, force=True) as partial:  # force: a file that was finished meanwhile is the same one
        try:
            _get(file.url, partial, bar or _Bar(file, 0, file.size, None))
        except requests.RequestException as error:
            raise PriveeError(_what_failed(error, requests, file)) from None
        _check_download(partial, file)
    return target


def _get(url: str, target: Path, bar: Any) -> None:
    with contextlib.ExitStack() as answers:

        def close_at_the_end(answer: Any, **_: Any) -> None:  # pooch leaves answers open when they fail
            answers.callback(answer.close)

        get = needed("pooch", "pooch").HTTPDownloader(
            progressbar=bar,
            chunk_size=CHUNK_BYTES,
            timeout=TIMEOUT_SECONDS,
            headers={"Accept-Encoding": "identity"},  # else a server may pack it, and sizes would not mean anything
            hooks={"response": close_at_the_end},
        )
        get(url, str(target), None)


def _check_download(partial: Path, file: DataFile) -> None:
    with partial.open("rb") as opened:
        actual = hashlib.file_digest(opened, "sha256").hexdigest()
    if actual != file.sha256:
        sent = f"{_host(file)} sent something else as {file.name}: sha256 is {actual}, expected {file.sha256}"
        raise PriveeError(f"{sent}; nothing is kept")


def _what_failed(error: Any, requests: Any, file: DataFile) -> str:
    if isinstance(error, requests.HTTPError):
        return f"{_host(file)} answered {error.response.status_code} to the request for {file.name}"
    if isinstance(error, requests.Timeout):
        return f"{_host(file)} did not answer in time to the request for {file.name}"
    if isinstance(error, requests.ConnectionError):
        return f"no connection to {_host(file)}, needed for {file.name}"
    return f"the connection to {_host(file)} broke while {file.name} was fetched"


def _host(file: DataFile) -> str:
    return urlsplit(file.url).netloc


class _Bar:
    """What pooch takes for a progress bar, for one of several files: `before` bytes of `size` are done already."""

    total = 0  # pooch sets it from the answer's header; the pinned sizes are used instead

    def __init__(self, file: DataFile, before: int, size: int, tell: Progress | None) -> None:
        self._file, self._before, self._size, self._tell = file, before, size, tell
        self._done = self._sent = 0

    def update(self, count: int) -> None:
        self._sent += count
        if self._sent > self._file.size + CHUNK_BYTES:
            raise PriveeError(f"{_host(self._file)} sends more than {self._file.name} has; nothing is kept")
        self._done = min(self._done + count, self._file.size)  # pooch counts the last chunk as a full one
        if self._tell:
            self._tell(self._before + self._done, self._size)

    def reset(self) -> None:
        self._done = self._sent = 0

    def close(self) -> None:
        """Nothing to close: the caller owns the bar."""

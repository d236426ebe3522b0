"""Write a file so that its name only ever stands for the whole of it; JSON files written and read that way."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from privee.errors import PriveeError, TakenError

MOST_JSON = 128 << 20


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool = False, private: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the final name, for good, only if the block ends well.

    Without `force` an existing file is never replaced, not even one that appears in the meantime. A `private` file is
    its owner's alone from the first moment on: whoever opens a file before its mode is narrowed can read it afterwards.
    """
    refuse_existing(path, force)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600 if private else 0o666))
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        _publish(partial, path, force)
        sync_folder(path.parent)
    except FileNotFoundError as error:
        raise PriveeError(f"cannot write {path}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON, whole or not at all, making the folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path, force=True) as partial:
        partial.write_text(json.dumps(value, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def read_json(path: Path) -> Any:
    """Read JSON, with a clear word if it is damaged."""
    try:
        if path.stat().st_size > MOST_JSON:
            raise PriveeError(f"{path} is damaged: no such file has more than {MOST_JSON >> 20} MB")
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PriveeError(f"{path} is missing") from None
    except PriveeError:
        raise
    except (ValueError, RecursionError):  # not UTF-8, not JSON, a number without end, nested without end
        raise PriveeError(f"{path} is damaged: it is not readable JSON") from None


def private_folder(path: Path) -> None:
    """Make a folder that only its owner can enter, and what is missing above it, for good."""
    missing = [above for above in path.parents if not above.exists()]
    for above in reversed(missing):
        above.mkdir(exist_ok=True)
        sync_folder(above.parent)
    path.mkdir(mode=0o700)
    sync_folder(path.parent)


@contextlib.contextmanager
def alone_in(folder: Path, said: str) -> Iterator[None]:
    """Hold a folder while the block runs; `said` is the `TakenError` if another process of this machine holds it.

    The system lets go of it when a process ends, however it ends. Where it has no such locks, nothing is held.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise TakenError(said) from None
    except OSError:  # a file system without them, such as most that are shared by machines
        pass
    try:
        yield
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """What was named in this folder outlives a power cut, where the system can promise that."""
    if os.name != "posix":  # elsewhere a folder cannot be opened
        return
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # one may write to it, but not list it
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that does so by itself, or never
            raise
    finally:
        os.close(handle)


def refuse_existing(path: Path, force: bool) -> None:
    """Say what `whole_file` would, before long work."""
    if path.is_dir():
        raise PriveeError(f"{path} is a folder; give a file name")
    if path.exists() and not force:
        raise PriveeError(f"{path} exists already; use --force to replace it")


def _publish(partial: Path, path: Path, force: bool) -> None:
    if force:
        partial.replace(path)
        return
    try:
        os.link(partial, path)  # unlike a rename, this fails if the name is taken
    except FileExistsError:
        refuse_existing(path, force)
    except OSError:  # a file system without hard links
        refuse_existing(path, force)
        partial.replace(path)

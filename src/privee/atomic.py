"""Write a file so that its name only ever stands for the whole of it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from privee.errors import PriveeError


@contextlib.contextmanager
def whole_file(path: Path, *, force: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside `path`; it takes the final name only if the block ends well.

    Without `force` an existing file is never replaced, not even one that appears in the meantime.
    """
    _refuse_existing(path, force)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    try:
        partial.touch(exist_ok=False)
        yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        _publish(partial, path, force)
    except FileNotFoundError as error:
        raise PriveeError(f"cannot write {path}: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def _refuse_existing(path: Path, force: bool) -> None:
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
        _refuse_existing(path, force)
    except OSError:  # a file system without hard links
        _refuse_existing(path, force)
        partial.replace(path)

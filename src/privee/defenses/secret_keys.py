"""Secret keys: how they are made, checked and read. They never show in a message."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from privee.errors import PriveeError, SettingError

KEY_BYTES = 32
SMALLEST_KEY_BYTES = 16


def new_key() -> bytes:
    """A fresh secret key from the operating system."""
    return os.urandom(KEY_BYTES)


def check_key(key: bytes) -> bytes:
    """The key itself, if it is one."""
    if not isinstance(key, bytes) or len(key) < SMALLEST_KEY_BYTES:
        raise SettingError(f"key must be at least {SMALLEST_KEY_BYTES} bytes, e.g. from new_key()")
    return key


def read_key(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file as a key; refuses a file that everybody can read or write, or that is too short."""
    if Path(path).is_dir():
        raise PriveeError(f"the key file {path} is a folder; give a file")
    try:
        with Path(path).open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            if os.name == "posix" and mode & (stat.S_IROTH | stat.S_IWOTH):
                raise SettingError(f"everybody can read or write the key file {path}: chmod 600 it and make a new key")
            return check_key(file.read())
    except OSError as error:
        raise PriveeError(f"cannot read the key file {path}: {error.strerror}") from None

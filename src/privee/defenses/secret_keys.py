"""Secret keys: how they are made, checked and read. They never show in a message."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable
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


PAD_BYTES = 64


def prepared_hmac(key: bytes, start: bytes = b"") -> Callable[[Iterable[bytes]], list[bytes]]:
    """HMAC-SHA256 (RFC 2104) of messages that all begin with `start`, with what they share worked out once.

    The key lives in this closure alone.
    """
    filled = (hashlib.sha256(key).digest() if len(key) > PAD_BYTES else key).ljust(PAD_BYTES, b"\0")
    inside = hashlib.sha256(bytes(byte ^ 0x36 for byte in filled) + start)
    outside = hashlib.sha256(bytes(byte ^ 0x5C for byte in filled))

    def digests(messages: Iterable[bytes]) -> list[bytes]:
        found = []
        for message in messages:
            inner, outer = inside.copy(), outside.copy()
            inner.update(message)
            outer.update(inner.digest())
            found.append(outer.digest())
        return found

    return digests

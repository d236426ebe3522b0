"""A file that only the holder of a key can read or change: AES-256-GCM, written whole or not at all, and locked."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from privee.atomic import whole_file
from privee.defenses.keys import check_key
from privee.errors import PriveeError

_MAGIC = b"privee sealed 1\n"
_SALT, _NONCE = 16, 12


def write_sealed(path: Path, key: bytes, label: bytes, body: bytes) -> None:
    """Encrypt and authenticate `body` under `key`, with a salt of its own each time; replaces the file."""
    salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
    sealed = _cipher(key, salt, label).encrypt(nonce, body, _MAGIC)
    with whole_file(path, force=True, private=True) as partial:
        partial.write_bytes(_MAGIC + salt + nonce + sealed)


def open_sealed(path: Path, key: bytes, label: bytes) -> bytes:
    """The body of a file that `write_sealed` wrote with the same key and label."""
    from cryptography.exceptions import InvalidTag

    try:
        content = path.read_bytes()
    except OSError as error:
        raise PriveeError(f"cannot read {path}: {error.strerror}") from None
    magic, salt, nonce, sealed = _cut(content, len(_MAGIC), _SALT, _NONCE)
    try:
        if magic != _MAGIC or len(nonce) != _NONCE:
            raise InvalidTag
        body: bytes = _cipher(key, salt, label).decrypt(nonce, sealed, _MAGIC)
    except InvalidTag:
        raise PriveeError(f"cannot open {path}: another key than the one it was written with, or damaged") from None
    return body


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep every other process and thread that asks for the same lock waiting. The lock is a file beside `path`."""
    try:
        import fcntl
    except ImportError:
        raise PriveeError("a shared state file needs file locks, which this operating system has not") from None
    try:
        handle = os.open(path.with_name(f".{path.name}.lock"), os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise PriveeError(f"cannot lock {path}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _cipher(key: bytes, salt: bytes, label: bytes) -> AESGCM:
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    return AESGCM(HKDF(SHA256(), 32, salt, label).derive(check_key(key)))


def _cut(content: bytes, *sizes: int) -> Iterator[bytes]:
    for size in sizes:
        yield content[:size]
        content = content[size:]
    yield content

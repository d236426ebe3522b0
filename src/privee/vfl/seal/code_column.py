"""A sealed party's column of codes, handed over once: predictions then need no server of the party's.

The file has no ids: eight bytes of a keyed hash stand for each, and one byte for its code. The key is a file of its own
(`codes.parquet.key`), for those who answer questions alone: whoever has both can try ids, whoever has the codes cannot,
nor change them unseen.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
from numpy.typing import NDArray

from privee.atomic import refuse_existing, whole_file
from privee.errors import PriveeError

FORMAT = "privee-codes-1"
KEY_BYTES = 32
BLOCK = 1 << 20
SCHEMA = pa.schema([("entity", pa.uint64()), ("code", pa.uint8())])

Codes = NDArray[np.uint8]
Keys = NDArray[np.uint64]


class ColumnAbout(NamedTuple):
    """What the file says of itself."""

    party: str
    seal: str
    weights: str
    codes: int
    epsilon: float | None


def key_file(path: Path) -> Path:
    """Where the key of a column of codes is."""
    return path.with_name(f"{path.name}.key")


def hashed(key: bytes, entities: Sequence[str]) -> Keys:
    """Eight bytes of a keyed hash of each id."""
    whole = hashlib.blake2b(key=key, digest_size=8)
    raw = bytearray()
    for entity in entities:
        one = whole.copy()  # the key is taken in once
        one.update(entity.encode("utf-8", "surrogatepass"))
        raw += one.digest()
    return np.frombuffer(raw, dtype="<u8").astype(np.uint64, copy=False)


def write_code_column(
    path: Path, about: ColumnAbout, entities: Sequence[str], codes: Codes, *, force: bool = False
) -> None:
    """Write codes and key, for their owner's eyes alone, whole or not at all.

    Of two ids with the same hash, one in millions of millions of columns, a new key is the cure.
    """
    refuse_existing(path, force)
    while True:
        key = secrets.token_bytes(KEY_BYTES)
        keys = hashed(key, entities)
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        if not (keys[1:] == keys[:-1]).any():
            break
        if len(set(entities)) < len(entities):
            raise PriveeError("an entity has one code: some are there twice")
    codes = codes[order]
    noted = {"format": FORMAT, "key": _check_of(key), **{k: str(v) for k, v in about._asdict().items()}}
    schema = SCHEMA.with_metadata(noted | {"mac": _mac(key, about, keys, codes)})
    with whole_file(key_file(path), force=True, private=True) as partial:
        partial.write_bytes(key)
    with whole_file(path, force=force, private=True) as partial:
        table = pa.table([pa.array(keys), pa.array(codes)], schema=schema)
        arrow_parquet.write_table(table, partial, compression="none", row_group_size=BLOCK, use_dictionary=["code"])


class CodeColumn:
    """A column of codes in memory: nine bytes an entity."""

    def __init__(self, about: ColumnAbout, key: bytes, keys: Keys, codes: Codes) -> None:
        self.about, self._key, self._keys, self._codes = about, key, keys, codes

    def __len__(self) -> int:
        return len(self._keys)

    @classmethod
    def read(cls, path: Path) -> CodeColumn:
        """From a file, with its key beside it."""
        try:
            with arrow_parquet.ParquetFile(path, pre_buffer=False) as file:
                noted = {k.decode(): v.decode() for k, v in (file.schema_arrow.metadata or {}).items()}
                about = _about(noted)
                if not file.schema_arrow.equals(SCHEMA):
                    raise ValueError
                keys, codes = _columns(file)
        except FileNotFoundError:
            raise PriveeError(f"{path} is missing") from None
        except (pa.ArrowException, KeyError, ValueError, OSError):
            raise PriveeError(f"{path} is no column of codes: `privee party export-codes` writes one") from None
        if (keys[1:] <= keys[:-1]).any() or (len(codes) and int(codes.max()) >= about.codes):
            raise PriveeError(f"{path} is damaged: its entities are not in order, or a code is none of its seal")
        key = _read_key(path, noted)
        if not hmac.compare_digest(_mac(key, about, keys, codes), noted.get("mac", "")):
            raise PriveeError(f"{path} was changed since the party wrote it")
        return cls(about, key, keys, codes)

    def check(self, path: Path, party: str, weights: str, codes: int) -> None:
        """Refuse codes of another party, of another version of the model, or of another seal."""
        if self.about.party != party or self.about.weights != weights or self.about.codes != codes:
            raise PriveeError(f"{path} holds the codes of another party, or of another version of the model")

    def find(self, entities: Sequence[str]) -> tuple[Codes, NDArray[np.bool_]]:
        """Codes of these entities, 0 where there is none, and which have none."""
        wanted = hashed(self._key, entities)
        places = np.searchsorted(self._keys, wanted)
        places[places == len(self._keys)] = 0
        unknown = self._keys[places] != wanted if len(self._keys) else np.ones(len(wanted), dtype=bool)
        codes = np.where(unknown, 0, self._codes[places] if len(self._keys) else 0).astype(np.uint8)
        return codes, unknown


def _columns(file: arrow_parquet.ParquetFile) -> tuple[Keys, Codes]:
    """Both, block by block: what Arrow has read is not kept beside what is taken from it."""
    keys, codes = (np.empty(file.metadata.num_rows, dtype=kind) for kind in (np.uint64, np.uint8))
    place, batch = 0, None
    for batch in file.iter_batches(BLOCK, columns=["entity", "code"], use_threads=False):
        keys[place : place + len(batch)] = batch.column("entity").to_numpy()
        codes[place : place + len(batch)] = batch.column("code").to_numpy()
        place += len(batch)
    batch = None  # or its memory is in use
    pa.default_memory_pool().release_unused()
    if place < len(keys):
        raise ValueError
    return keys, codes


def _about(noted: dict[str, str]) -> ColumnAbout:
    if noted.get("format") != FORMAT:
        raise ValueError
    codes, epsilon = int(noted["codes"]), None if noted["epsilon"] == "None" else float(noted["epsilon"])
    if not 2 <= codes <= 256 or len(noted["seal"]) != 64:
        raise ValueError
    return ColumnAbout(noted["party"], noted["seal"], noted["weights"], codes, epsilon)


def _read_key(path: Path, noted: dict[str, str]) -> bytes:
    beside = key_file(path)
    try:
        key = beside.read_bytes()
        mode = os.stat(beside).st_mode
    except OSError:
        raise PriveeError(f"{beside} is missing, or cannot be read: it is the key of {path.name}") from None
    if mode & 0o077:
        raise PriveeError(f"{beside} can be read by others: chmod 600 {beside.name}")
    if len(key) != KEY_BYTES or not hmac.compare_digest(_check_of(key), noted.get("key", "")):
        raise PriveeError(f"{beside} is not the key of {path.name}")
    return key


def _check_of(key: bytes) -> str:
    return hmac.digest(key, b"privee code column v1", "sha256").hex()


def _mac(key: bytes, about: ColumnAbout, keys: Keys, codes: Codes) -> str:
    """Over all that the file says; whoever has no key can change none of it unseen."""
    found = hashlib.blake2b("\n".join(map(str, about)).encode(), key=key, digest_size=32, person=b"privee codes v1")
    found.update(keys.astype("<u8", copy=False).data)
    found.update(codes.data)
    return found.hexdigest()

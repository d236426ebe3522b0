"""What a sealed party keeps of a run: the code of every record that was aligned, in its own folder, for its own eyes.

`codes.parquet` holds ids and codes; a keyed digest in it tells that nobody changed it. Records that are not in it
have a code all the same: the choice of the encoder through the party's own draw, which any of its servers makes alike.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee.atomic import whole_file
from privee.data.columns import SourceColumn
from privee.errors import PriveeError
from privee.vfl.joint_data import JointData
from privee.vfl.seal.drawing import Codes, kept_secret, read_secret
from privee.vfl.seal.party import SealedParty, SealedRecords
from privee.vfl.seal.settings import Seal

CODES = "codes.parquet"


def write_codes(folder: Path, entities: Sequence[str], codes: Codes) -> Path:
    """Write them for their owner's eyes alone, whole or not at all."""
    path, about = folder / CODES, {"mac": _mac(read_secret(folder), entities, codes)}
    schema = pa.schema([("entity", pa.large_string()), ("code", pa.uint8())], metadata=about)
    table = pa.table([pa.array(entities, pa.large_string()), pa.array(codes, pa.uint8())], schema=schema)
    with whole_file(path, force=True, private=True) as partial:
        arrow_parquet.write_table(table, partial)
    return path


def read_codes(folder: Path) -> tuple[list[str], Codes]:
    """Ids and codes of the records that were aligned."""
    path = folder / CODES
    try:
        table = arrow_parquet.read_table(path)
        entities, codes = table.column("entity").to_pylist(), table.column("code").to_numpy().astype(np.uint8)
        mac = (table.schema.metadata or {})[b"mac"].decode()
    except FileNotFoundError:
        raise PriveeError(f"{path} is missing: it holds the codes that were drawn; restore it") from None
    except (pa.ArrowException, KeyError, ValueError, OSError):
        raise PriveeError(f"{path} is damaged: it is not a readable list of codes") from None
    if not hmac.compare_digest(mac, _mac(read_secret(folder), entities, codes)):
        raise PriveeError(f"{path} was changed, or is of another seal than the secret beside it")
    return entities, codes


def _mac(secret: bytes, entities: Iterable[str], codes: Codes) -> str:
    keyed = hmac.new(secret, b"privee sealed codes v1\0" + codes.tobytes(), "sha256")
    for entity in entities:
        raw = entity.encode("utf-8", "surrogatepass")
        keyed.update(len(raw).to_bytes(4, "big") + raw)
    return keyed.hexdigest()


def records_to_train(
    data: JointData, seals: Mapping[str, Seal], folders: Mapping[str, Path]
) -> dict[str, SealedRecords]:
    """Of every sealed party, for a training: its secret, kept in its folder, and where its sensitive columns are."""
    return {
        name: SealedRecords(
            secret=kept_secret(folders[name]),
            entities=data.ids,
            sensitive=sensitive_places(data.described, name, seal.sensitive),
        )
        for name, seal in seals.items()
    }


def put_sent_codes(party: SealedParty, folder: Path) -> None:
    """Let a party of a finished run send the codes that it sent before; other records are drawn now, by their ids."""
    entities, codes = read_codes(folder)
    if len(codes) and int(codes.max()) >= party.seal.codes:
        raise PriveeError(f"{folder / CODES} holds a code that is not among the {party.seal.codes} of its seal")
    party.send_again(dict(zip(entities, codes.tolist(), strict=True)))


def sensitive_places(
    described: Sequence[SourceColumn], party: str, sensitive: Sequence[str]
) -> tuple[tuple[int, ...], ...]:
    """Places of the features of each sensitive column among the party's own."""
    own = [column for column in described if column.party == party]
    first = min((place for column in own for place in column.places), default=0)
    places = {column.name: tuple(place - first for place in column.places) for column in own}
    return tuple(places[name] for name in sensitive if name in places)


def check_sensitive(described: Sequence[SourceColumn], seals: Mapping[str, Seal], wanted: Iterable[str]) -> None:
    """Every sensitive column must be one of a sealed party's."""
    known = {name for column in described if column.party in seals for name in column.called}
    for name in wanted:
        if name not in known:
            raise PriveeError(f"no sealed party has a column called {name!r}")

"""Handing a sealed party's codes over once: each is charged in the party's own ledger, as if it had been asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.atomic import refuse_existing
from privee.errors import PriveeError
from privee.party.ledger import PartyLedger, SealTerms
from privee.party.ledger.settings import LedgerSettings
from privee.party.party_model import PartyModel
from privee.party.stores import Found, Source, open_store
from privee.progress import Progress
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal.code_column import ColumnAbout, write_code_column
from privee.vfl.seal.records import read_codes

BLOCK = 1 << 16
NONE = np.zeros(0, dtype=bool)


@dataclasses.dataclass(frozen=True)
class Exported:
    """What was handed over.

    Attributes:
        file: the column of codes; its key is beside it.
        entities: how many have a code there.
        charged: how many of these were charged now, not before.
        refused: how many were left out, since another code would go beyond the party's limits.
        unknown: how many ids were asked for that the party has no record of.
    """

    file: str
    entities: int
    charged: int
    refused: int
    unknown: int

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def export_codes(
    folder: Path,
    target: Path,
    ledger: LedgerSettings,
    *,
    source: Source | None = None,
    entities: Sequence[str] | None = None,
    force: bool = False,
    progress: Progress = lambda done, size: None,
) -> Exported:
    """Pin and charge the codes of a sealed party's records, then write them.

    Args:
        folder: the party's folder in a run.
        target: the file to write.
        ledger: the party's own.
        source: its columns, for records that were not aligned when the model was trained.
        entities: ids of such records, beside those of the training.
        force: replace the file.
        progress: told how far it is.
    """
    about = PartyDescription.read(folder)
    if about.seal is None:
        raise PriveeError(f"{folder} is not sealed: only codes can be handed over (see `privee seal`)")
    refuse_existing(target, force)
    model = PartyModel.load(folder, about)
    trained, _ = read_codes(folder)
    known = frozenset(trained)
    more = [one for one in dict.fromkeys(entities or ()) if one not in known]
    if more and source is None:
        raise PriveeError("records that are new since the training need the party's columns: give --data")
    # Codes of records of the training are drawn already, whatever their columns: these take no memory here.
    blank = np.broadcast_to(np.zeros(about.features, dtype=np.float32), (len(trained), about.features))
    found = _new_records(folder, about, source, more) if source is not None and more else Found(blank[:0], NONE)
    held = [one for one, unknown in zip(more, found.unknown.tolist(), strict=True) if not unknown]
    columns = found.columns.reshape(len(more), about.features)[~found.unknown]
    counted = ledger.open(folder, model.sealed)
    if counted is None or model.sealed is None:
        raise PriveeError(f"{folder} has no ledger to charge the codes in")
    with counted:
        parts = [
            _pinned(counted, model, model.sealed, *records, progress) for records in ((trained, blank), (held, columns))
        ]
    kept = [entity for part in parts for entity in part[0]]
    codes, charged = np.concatenate([part[1] for part in parts]), sum(part[2] for part in parts)
    noted = ColumnAbout(about.party, model.sealed.seal, model.weights, about.seal.codes, about.seal.epsilon)
    write_code_column(target, noted, kept, codes, force=force)
    refused = len(trained) + len(held) - len(kept)
    return Exported(str(target), len(kept), charged, refused, len(more) - len(held))


def _new_records(folder: Path, about: PartyDescription, source: Source, entities: Sequence[str]) -> Found:
    """Columns of records that are new since the training."""
    store = open_store(folder, about, source)
    try:
        return store.find(entities)
    finally:
        store.close()


def _pinned(
    ledger: PartyLedger,
    model: PartyModel,
    terms: SealTerms,
    entities: Sequence[str],
    columns: NDArray[np.float32],
    progress: Progress,
) -> tuple[list[str], NDArray[np.uint8], int]:
    """Who may have a code, the codes, and how many were charged now; a block of entities in each transaction."""
    kept: list[str] = []
    codes = [np.zeros(0, dtype=np.uint8)]
    charged = 0
    for start in range(0, len(entities), BLOCK):
        some = entities[start : start + BLOCK]
        pinned = ledger.pin(some, terms, model.codes(columns[start : start + BLOCK], some))
        charged += pinned.new
        kept += [entity for entity, refused in zip(some, pinned.refused.tolist(), strict=True) if not refused]
        codes.append(pinned.codes[~pinned.refused])
        progress(min(start + BLOCK, len(entities)), len(entities))
    return kept, np.concatenate(codes), charged

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
from privee.party.ledger.settings import LedgerSettings
from privee.party.party_model import PartyModel
from privee.party.stores import Source, open_store
from privee.progress import Progress
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal.code_column import ColumnAbout, write_code_column
from privee.vfl.seal.records import read_codes

BLOCK = 1 << 16


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
    store = open_store(folder, about, source) if source is not None and more else None
    wanted = [*trained, *more]
    counted = ledger.open(folder, model.sealed)
    if counted is None or model.sealed is None:
        raise PriveeError(f"{folder} has no ledger to charge the codes in")
    kept: list[str] = []
    codes: list[NDArray[np.uint8]] = []
    charged = refused = unknown = 0
    try:
        for start in range(0, len(wanted), BLOCK):
            some = wanted[start : start + BLOCK]
            columns = np.zeros((len(some), about.features), dtype=np.float32)
            new = [place for place in range(len(some)) if start + place >= len(trained)]
            if store is not None and new:
                found = store.find([some[place] for place in new])
                columns[new] = found.columns.reshape(len(new), -1)
                away = {new[place] for place in np.flatnonzero(found.unknown).tolist()}
                unknown += len(away)
                held = [place for place in range(len(some)) if place not in away]
                some, columns = [some[place] for place in held], columns[held]
            pinned = counted.pin(some, model.sealed, model.codes(columns, some))
            charged += pinned.new
            refused += int(pinned.refused.sum())
            kept += [entity for entity, no in zip(some, pinned.refused.tolist(), strict=True) if not no]
            codes.append(pinned.codes[~pinned.refused])
            progress(min(start + BLOCK, len(wanted)), len(wanted))
    finally:
        counted.close()
        if store is not None:
            store.close()
    noted = ColumnAbout(about.party, model.sealed.seal, model.weights, about.seal.codes, about.seal.epsilon)
    write_code_column(target, noted, kept, np.concatenate(codes), force=force)
    return Exported(str(target), len(kept), charged, refused, unknown)

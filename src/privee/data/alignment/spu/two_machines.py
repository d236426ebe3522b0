"""An alignment by RR22 between two organisations: each runs its own party, and their workers meet over the network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from privee.data.alignment.in_process import Alignment
from privee.data.alignment.spu.link import SpuLink
from privee.data.alignment.spu.meetings import Patience, Start, active_rows, passive_rows
from privee.data.alignment.spu.one_machine import StepCount
from privee.data.alignment.spu.pipe import SpuWorker
from privee.errors import SettingError
from privee.net import Address
from privee.progress import Progress


def align_own(
    parties: Mapping[str, Sequence[str]],
    *,
    active: str,
    addresses: Mapping[str, Address],
    certificate: Path,
    key: Path,
    peer: Path,
    progress: Progress | None = None,
    start: Start = SpuWorker,
    patience: Patience | None = None,
) -> Alignment:
    """As `align`, for one party's own ids; the other party does the same elsewhere.

    Args:
        parties: the own party's name and ids, and nobody else's.
        active: the party that learns which of its ids the other has.
        addresses: where both parties' workers listen, by name.
        certificate: the own certificate.
        key: its private key.
        peer: the other party's certificate.
        progress: called with (done, size).
        start: how a worker is started.
        patience: how long to wait for the other party.
    """
    own, other = _sides(parties, active, addresses)
    passive = other if own == active else own
    link = SpuLink(addresses[active], addresses[passive], certificate, key, peer)
    bar = StepCount(1, progress)
    run = partial(active_rows, links={other: link}) if own == active else partial(passive_rows, link=link, active=other)
    rows = run(parties[own], name=own, start=start, patience=patience, tick=bar.tick)
    return Alignment({own: rows}, len(rows), {})


def _sides(parties: Mapping[str, object], active: str, addresses: Mapping[str, Address]) -> tuple[str, str]:
    if len(addresses) != 2:
        raise SettingError(
            f"a link joins two parties, got addresses of {len(addresses)}; for more parties use the default engine"
        )
    if len(parties) != 1 or not set(parties) <= set(addresses):
        raise SettingError(f"over a link each party brings its own file alone: one of {', '.join(addresses)}")
    if active not in addresses:
        raise SettingError(f"no address is given for the active party {active}; there are {', '.join(addresses)}")
    (own,) = parties
    (other,) = set(addresses) - {own}
    return own, other

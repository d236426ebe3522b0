"""Engines of record alignment by name: what finds the common records of all parties, or of one over a link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from privee.data.alignment.in_process import Alignment, align
from privee.data.alignment.spu.one_machine import align_with_spu
from privee.data.alignment.spu.two_machines import align_own
from privee.errors import SettingError
from privee.net import Address
from privee.progress import Progress


class Engine(Protocol):
    """Ids in, rows out; `align` is one."""

    def __call__(
        self, parties: Mapping[str, Sequence[str]], *, active: str, progress: Progress | None = None
    ) -> Alignment:
        """Find the records that all parties hold, and one order for them."""


ENGINES: Mapping[str, Engine] = {"openmined": align, "spu": align_with_spu}
"""All parties on this machine."""

LINKED = {"spu": align_own}
"""One party here and another elsewhere. Messages of openmined are carried by other means (docs/alignment.md)."""


def chosen_engine(
    name: str,
    addresses: Sequence[str] = (),
    certificate: Path | None = None,
    key: Path | None = None,
    peer: Path | None = None,
) -> Engine:
    """The engine of this name; with addresses (NAME=HOST:PORT), one party's own side of it."""
    if name not in ENGINES:
        raise SettingError(f"no engine is called {name!r}; there are {', '.join(ENGINES)}")
    files = certificate, key, peer
    if not addresses:
        if any(files):
            raise SettingError("certificates are for a link; give --link NAME=HOST:PORT for both parties too")
        return ENGINES[name]
    if name not in LINKED:
        raise SettingError(f"a link is for the engine {', '.join(LINKED)}; messages of {name} go over any channel")
    if certificate is None or key is None or peer is None:
        raise SettingError("a link needs TLS on both sides: --certificate, --key and --other-certificate")
    return partial(LINKED[name], addresses=_addresses(addresses), certificate=certificate, key=key, peer=peer)


def _addresses(given: Sequence[str]) -> dict[str, Address]:
    found: dict[str, Address] = {}
    for text in given:
        name, equals, address = text.partition("=")
        if not (name and equals):
            raise SettingError(f"--link takes NAME=HOST:PORT, got {text!r}")
        if name in found:
            raise SettingError(f"--link is given twice for party {name}")
        found[name] = Address.parse(address)
    return found

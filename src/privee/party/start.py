"""`privee party serve`: from a party's folder to a process that serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
import logging
import os
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.logs import log, start_logging
from privee.net import Address, require_loopback
from privee.party.ledger.settings import LedgerSettings
from privee.party.stores import Source, open_store
from privee.party.wire import About
from privee.pki.identity import RENEW, Identity, TlsFiles, party_name
from privee.version import __version__
from privee.vfl.run_format import PartyDescription

if TYPE_CHECKING:
    from privee.party.server import PartyHandler

SOON_DAYS = 30


@dataclasses.dataclass(frozen=True)
class ServeSettings:
    """What `privee party serve` was told."""

    folder: Path
    source: Source
    listen: str = "127.0.0.1:0"
    tls: TlsFiles | None = None
    ready_file: Path | None = None
    ledger: LedgerSettings = dataclasses.field(default_factory=LedgerSettings)


def serve_party(settings: ServeSettings) -> None:
    """Serve until SIGTERM or SIGINT; calls in flight are finished first."""
    listen = Address.parse(settings.listen)
    about = PartyDescription.read(settings.folder)
    identity = _identity(settings.tls, about.party, listen)
    start_logging()
    service = open_party(settings, about, tls=identity is not None)
    try:
        asyncio.run(_serve(settings, service, listen, identity))
    finally:
        service.close()


def open_party(settings: ServeSettings, description: PartyDescription, *, tls: bool) -> PartyHandler:
    """What answers for a party: its store, its part of the model, its ledger if it has one; `close` lets go of them."""
    # Here because they load torch, which takes seconds: a wrong option is told before.
    from privee.party.party_model import PartyModel
    from privee.party.server import PartyHandler

    store = open_store(settings.folder, description, settings.source)
    model = PartyModel.load(settings.folder, description)
    try:
        ledger = settings.ledger.open(settings.folder, model.sealed)
    except BaseException:
        store.close()
        raise
    sealed = None if model.sealed is None else model.sealed.codes
    width = model.width if sealed is None else 1
    rows = store.rows
    said = (description.party, model.weights, width, description.features, rows, __version__)
    about = About(*said, codes=sealed, receipts=ledger is not None)
    if ledger is not None:
        limits = {name: most for name, most in dataclasses.asdict(ledger.limits).items() if most is not None}
        log("ledger", party=description.party, sealed=sealed is not None, limits=limits)
    return PartyHandler(about, model, store, tls=tls, ledger=ledger)


async def _serve(settings: ServeSettings, service: PartyHandler, listen: Address, identity: Identity | None) -> None:
    from privee.party.server import PartyServer

    server = await PartyServer.start(service, listen, identity)
    stop = _stop_signals()
    try:
        _tell_ready(settings, service.about, server.address, identity)
        await stop.wait()
        log("stopping", party=service.about.party)
    finally:
        if settings.ready_file is not None:
            settings.ready_file.unlink(missing_ok=True)
        await server.stop()
    log("stopped", party=service.about.party)


def _identity(tls: TlsFiles | None, party: str, listen: Address) -> Identity | None:
    """The party's certificate, checked: it must be this party's, and in date."""
    if tls is None:
        require_loopback(listen, "give --certs, made with `privee certs init`")
        return None
    identity = tls.load()
    if party_name(party) not in identity.names:
        raise PriveeError(f"{tls.cert} is not the certificate of party {party}: it is for {', '.join(identity.names)}")
    return identity


def _tell_ready(settings: ServeSettings, about: About, address: Address, identity: Identity | None) -> None:
    print(f"privee: party {about.party} listens on {address}", file=sys.stderr, flush=True)
    where, tls = str(address), identity is not None
    log("ready", party=about.party, address=where, rows=about.rows, width=about.width, tls=tls)
    if identity is not None:
        _tell_certificate(identity)
    if settings.ready_file is not None:
        with whole_file(settings.ready_file, force=True) as partial:
            partial.write_text(json.dumps({"address": str(address), "pid": os.getpid()}) + "\n", encoding="utf-8")


def _tell_certificate(identity: Identity) -> None:
    days = (identity.expires - datetime.now(UTC)).days
    if days < SOON_DAYS:
        log("certificate expires soon", level=logging.WARNING, days=days)
    if identity.asks:
        log("certificate of an older privee: it can also call other parties", level=logging.WARNING, advice=RENEW)


def _stop_signals() -> asyncio.Event:
    """Set by the first signal; a second one ends the process at once."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def heard(number: signal.Signals) -> None:
        stop.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        with contextlib.suppress(NotImplementedError):  # Windows
            loop.add_signal_handler(number, heard, number)
    return stop

"""The active party, with its own certificate and place, that sends whatever embedding it likes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from privee.net import Address
from privee.party.party_model import PartyModel
from privee.party.server import PartyHandler, PartyServer
from privee.party.stores import Source, open_store
from privee.party.wire import About
from privee.pki.identity import TlsFiles
from privee.version import __version__
from privee.vfl.run_format import PartyDescription


class LyingParty:
    """A real party server in a thread of this process; `embedding` is what it answers from now on, None the truth."""

    def __init__(self, folder: Path, certs: Path) -> None:
        self.embedding: np.ndarray | None = None
        self.asked = 0
        about = PartyDescription.read(folder)
        self._model = PartyModel(folder, about)
        self.weights, self.sealed = self._model.weights, None
        self._store = open_store(folder, about, Source("dataset"))
        described = About(about.party, self._model.weights, self._model.width, about.features, 0, __version__)
        self._service = PartyHandler(described, self, self._store, tls=True)  # type: ignore[arg-type]
        self._identity = TlsFiles.from_folder(certs).load()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def embed(self, columns: np.ndarray, entities: Sequence[str]) -> np.ndarray:
        """In place of the model's."""
        self.asked += 1
        if self.embedding is None:
            return self._model.embed(columns, entities)
        return np.repeat(self.embedding[None].astype(np.float32), len(columns), axis=0)

    def __enter__(self) -> LyingParty:
        self._thread.start()
        start = PartyServer.start(self._service, Address("127.0.0.1", 0), self._identity)
        self._server = asyncio.run_coroutine_threadsafe(start, self._loop).result(30)
        self.address = str(self._server.address)
        return self

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self._server.stop(0.2), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._service.close()

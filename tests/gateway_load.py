"""Clients that ask a gateway without pause, and what each of them saw; shared by the tests and the benchmark of faults."""

import dataclasses
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

from privee.gateway.demo import MODEL
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits

SECONDS = 30.0
Batch = Callable[[random.Random], Sequence[str]]


@dataclasses.dataclass
class Seen:
    """One request as its client saw it.

    Attributes:
        entities: what it asked about.
        sent: when all of it was handed to the kernel, by `time.monotonic`; None if that failed.
        status: of a response that was read to its end; None if the connection broke before.
        answer: that response.
        error: how the connection broke.
    """

    entities: Sequence[str]
    sent: float | None = None
    status: int | None = None
    answer: dict | None = None
    error: str | None = None


class Asker:
    """One client with one connection, opened anew if the gateway closed it."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, entities: Sequence[str]) -> Seen:
        seen = Seen(entities)
        tensor = {"name": "entities", "shape": [len(entities)], "datatype": "BYTES", "data": list(entities)}
        body = json.dumps({"inputs": [tensor]}).encode()
        try:
            self._connection.request("POST", f"/v2/models/{MODEL}/infer", body, self._headers)
            seen.sent = time.monotonic()
            response = self._connection.getresponse()
            seen.answer = json.loads(response.read())
            seen.status = response.status
        except (OSError, http.client.HTTPException) as error:
            seen.error = type(error).__name__
            self.close()
        return seen

    def close(self) -> None:
        self._connection.close()


class Crowd:
    """Clients on threads of their own, spread over some gateways; each ends when told, or when its gateway is gone.

    Args:
        urls: of the gateways.
        key: an API key.
        batch: what to ask about next.
        clients: how many.
        most: requests of each client; None is without end.
        seed: of the choices.
    """

    def __init__(
        self, urls: Sequence[str], key: str, batch: Batch, *, clients: int = 8, most: int | None = None, seed: int = 0
    ) -> None:
        self.seen: list[Seen] = []
        self._batch, self._most, self._told = batch, most, threading.Event()
        self._threads = [
            threading.Thread(target=self._work, args=(Asker(urls[place % len(urls)], key), random.Random(seed + place)))
            for place in range(clients)
        ]

    def __enter__(self) -> "Crowd":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def join(self) -> "Crowd":
        """Wait until every client has asked all it was to ask."""
        for thread in self._threads:
            thread.join()
        return self

    def stop(self) -> "Crowd":
        """Each client finishes the request it is at."""
        self._told.set()
        return self.join()

    def wait_for(self, count: int, seconds: float = SECONDS) -> None:
        """Wait until this many requests have ended."""
        end = time.monotonic() + seconds
        while len(self.seen) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"{len(self.seen)} of {count} requests in {seconds:g} s")
            time.sleep(0.005)

    def _work(self, asker: Asker, choices: random.Random) -> None:
        left = self._most
        while not self._told.is_set() and left != 0:
            seen = asker.ask(self._batch(choices))
            self.seen.append(seen)
            if seen.status is None:
                break
            left = None if left is None else left - 1
        asker.close()


def received(seen: Iterable[Seen]) -> Counter[str]:
    """Releases that clients have read to the end, by entity."""
    return Counter(entity for one in seen if one.status == 200 for entity in one.entities)


def counted(url: str, key: bytes, entities: Iterable[str]) -> dict[str, int]:
    """What the ledger has counted, read from the database itself."""
    with Ledger.open(url, key, limits=Limits()) as ledger:
        return {entity: ledger.spent(entity).lifetime_releases for entity in entities}

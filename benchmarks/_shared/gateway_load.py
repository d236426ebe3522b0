"""Clients that ask a gateway without pause, and what each of them saw; for tests and the benchmark of faults."""

import dataclasses
import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from urllib.parse import urlsplit

from privee.gateway.demo import MODEL
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits
from privee.processes import ServerProcess

SECONDS = 30.0
COLUMNS, VARIANTS = 32, 64
"""Of the active party in the demo's model, and how many different ones there are here."""
Batch = Callable[[random.Random], Sequence[str]]


@dataclasses.dataclass
class Seen:
    """One request as its client saw it.

    Attributes:
        entities: what it asked about.
        variant: which columns of the active party's it sent, if any.
        sent: when all of it was handed to the kernel, by `time.monotonic`; None if that failed.
        status: of a response that was read to its end; None if the connection broke before.
        answer: that response.
        error: how the connection broke.
        seconds: from the first byte to the end.
    """

    entities: Sequence[str]
    variant: int | None = None
    sent: float | None = None
    status: int | None = None
    answer: dict | None = None
    error: str | None = None
    seconds: float = 0.0


class Asker:
    """One client with one connection, opened anew if the gateway closed it."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, entities: Sequence[str], variant: int | None = None) -> Seen:
        seen, start = Seen(entities, variant), time.monotonic()
        count = len(entities)
        tensors = [{"name": "entities", "shape": [count], "datatype": "BYTES", "data": list(entities)}]
        if variant is not None:
            data = [variant / VARIANTS] * (COLUMNS * count)
            tensors.append({"name": "columns", "shape": [count, COLUMNS], "datatype": "FP32", "data": data})
        body = json.dumps({"inputs": tensors}).encode()
        try:
            self._connection.request("POST", f"/v2/models/{MODEL}/infer", body, self._headers)
            seen.sent = time.monotonic()
            response = self._connection.getresponse()
            seen.answer = json.loads(response.read())
            seen.status = response.status
        except (OSError, http.client.HTTPException) as error:
            seen.error = type(error).__name__
            self.close()
        seen.seconds = time.monotonic() - start
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
        variants: out of how many different columns of the active party's each request picks; None: those it has stored.
    """

    def __init__(
        self,
        urls: Sequence[str],
        key: str,
        batch: Batch,
        *,
        clients: int = 8,
        most: int | None = None,
        seed: int = 0,
        variants: int | None = None,
    ) -> None:
        self.seen: list[Seen] = []
        self._batch, self._most, self._told, self._variants = batch, most, threading.Event(), variants
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
            seen = asker.ask(self._batch(choices), choices.randrange(self._variants) if self._variants else None)
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


def variants_answered(seen: Iterable[Seen]) -> dict[str, set[int | None]]:
    """The different columns with which each entity was answered."""
    found: dict[str, set[int | None]] = {}
    for one in seen:
        for entity in one.entities if one.status == 200 else ():
            found.setdefault(entity, set()).add(one.variant)
    return found


def variants_counted(url: str, key: bytes, entities: Iterable[str]) -> dict[str, int]:
    """The different questions that the ledger has pinned, read from the database itself."""
    with Ledger.open(url, key, limits=Limits()) as ledger:
        return {entity: ledger.spent(entity).variants for entity in entities}


@dataclasses.dataclass(frozen=True)
class Crash:
    """What a gateway that was killed under load leaves behind; numbers are releases of one entity, summed over all.

    Attributes:
        requests: that clients made of it.
        in_flight: requests that were sent when it was killed, and never answered.
        received: releases that clients have read to the end, in this life of the gateway.
        short: releases received and not in the ledger, over all its lives; must be 0.
        over: releases in the ledger and not received, over all its lives.
        most_over: releases that were asked for and whose answers broke off, over all its lives.
    """

    requests: int
    in_flight: int
    received: int
    short: int
    over: int
    most_over: int


def crashes(start: Callable[[], ServerProcess], url: str, key: bytes, api_key: str, count: int) -> Iterator[Crash]:
    """Start a gateway, ask it from 8 clients, kill it at a random moment, compare with the ledger; again and again.

    Args:
        start: starts a gateway on this ledger.
        url, key: of the ledger.
        api_key: a consumer's.
        count: how often.
    """
    entities = [str(number) for number in range(12)]
    moments, seen = random.Random(count), list[Seen]()
    for life in range(count):
        gateway = start().wait_ready()
        with Crowd([gateway.ready["url"]], api_key, lambda draw: _some(draw, entities), seed=100 * life) as crowd:
            crowd.wait_for(24)
            time.sleep(moments.uniform(0, 0.4))
            killed = time.monotonic()
            gateway.kill()
        seen += crowd.seen
        have, held = received(seen), counted(url, key, entities)
        yield Crash(
            requests=len(crowd.seen),
            in_flight=sum(one.status is None and one.sent is not None and one.sent < killed for one in crowd.seen),
            received=received(crowd.seen).total(),
            short=sum(max(0, have[entity] - held[entity]) for entity in entities),
            over=sum(max(0, held[entity] - have[entity]) for entity in entities),
            most_over=sum(len(one.entities) for one in seen if one.status is None),
        )


def _some(draw: random.Random, entities: Sequence[str]) -> Sequence[str]:
    return draw.sample(entities, draw.choice((1, 1, 1, 5)))

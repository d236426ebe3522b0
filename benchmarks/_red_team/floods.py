"""Strangers and slow keys that send much: does everybody else still get answers?"""

from __future__ import annotations

import contextlib
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import httpx

from benchmarks._red_team.base import INFER, Outcome, Scene, ask, consumer

LIVE, READY = "/v2/health/live", "/v2/health/ready"
SENDERS, STRANGERS = 4, 30
WIDE = json.dumps({"inputs": [[0]] * 600_000}).encode()


def attack(scene: Scene) -> Sequence[Outcome]:
    """Large bodies from a key that may ask five times a minute, and bursts of readiness from strangers."""
    seconds = float(scene.times(10))
    with scene.gateway(scene.world(), "--defense", "label-only", "--releases", "1000000") as served:
        slow, fast = served.key(rate="5/minute"), served.key()
        return [_bodies(served.url, slow, seconds), _readiness(served.url, fast, seconds)]


def _bodies(url: str, key: str, seconds: float) -> Outcome:
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def send(client: httpx.Client) -> None:
        with contextlib.suppress(httpx.TransportError):  # cut off in mid-body: so be it
            client.post(INFER, content=WIDE, headers=headers)

    quiet = _live(url, seconds)
    with _crowd(url, send, SENDERS) as sent:
        _live(url, 0.5)
        under = _live(url, seconds)
    measured = {"live_ms": 1e3 * quiet, "live_ms_under_flood": 1e3 * under, "bodies": sent[0], "MiB": len(WIDE) / 2**20}
    words = f"liveness {1e3 * quiet:.1f} ms, {1e3 * under:.1f} ms while {sent[0]} large bodies were sent"
    return Outcome("large bodies from a slow key", under < max(0.05, 8 * quiet), words, measured)


def _readiness(url: str, key: str, seconds: float) -> Outcome:
    with consumer(url, key) as client:
        ask(client, "1")
        alone, beside, sent = _rate(client, seconds), {}, {}
        for address in (LIVE, READY):  # the same load, without and with a question to the parties
            with _crowd(url, lambda stranger, address=address: stranger.get(address), STRANGERS) as count:
                beside[address] = _rate(client, seconds)
            sent[address] = count[0]
    live, ready = beside[LIVE], beside[READY]
    measured = {"releases_per_s": alone, "beside_liveness": live, "beside_readiness": ready, "asked": sent[READY]}
    words = (
        f"{ready:.0f} releases a second beside {sent[READY]} readiness requests, {live:.0f} beside as many of liveness"
    )
    # Strangers share two cores with the gateway; the way to the parties they must not share.
    return Outcome("readiness asked by many", ready > live / 2, words, measured)


def _live(url: str, seconds: float) -> float:
    times, end = [], time.monotonic() + seconds
    with httpx.Client(base_url=url, timeout=30) as client:
        while time.monotonic() < end:
            started = time.perf_counter()
            client.get(LIVE)
            times.append(time.perf_counter() - started)
            time.sleep(0.01)
    return statistics.median(times)


def _rate(client: httpx.Client, seconds: float) -> float:
    return _rate_of(lambda: ask(client, "1").raise_for_status(), seconds)


def _rate_of(work: Callable[[], object], seconds: float) -> float:
    count, started = 0, time.monotonic()
    while time.monotonic() < started + seconds:
        work()
        count += 1
    return count / (time.monotonic() - started)


@contextlib.contextmanager
def _crowd(url: str, work: Callable[[httpx.Client], object], size: int) -> Iterator[list[int]]:
    """So many threads that do the same again and again until the block ends."""
    over, done = threading.Event(), [0]

    def one() -> None:
        with httpx.Client(base_url=url, timeout=30) as client:
            while not over.is_set():
                work(client)
                done[0] += 1

    threads = [threading.Thread(target=one, daemon=True) for _ in range(size)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        over.set()
        for thread in threads:
            thread.join(30)

"""A party with a certificate of its own that holds calls open at another and sends it large messages."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import grpc

from benchmarks._red_team.base import Outcome, Scene, ask, consumer
from benchmarks._shared.party_door import grpc_channel, old_certificate
from privee.party.wire import EMBED
from privee.pki.identity import TlsFiles

HELD, LARGE, LARGE_BYTES = 80, 16, 60 << 20
MOST_MIB = 100


def attack(scene: Scene) -> Sequence[Outcome]:
    """With a certificate of an older privee, which gRPC itself takes for a client's, against the active party."""
    world = scene.world()
    old_certificate(world.certs, "stranger")
    with scene.gateway(world, "--defense", "label-only", "--releases", "100000") as served:
        victim = scene.parties(world)["active"]
        with consumer(served.url, served.key()) as client:
            ask(client, "1").raise_for_status()
            before = _memory(victim.pid)
            codes = _asked_meanwhile(scene, world.certs, victim.address, client)
        grown = _memory(victim.pid) - before
    failed = sum(code != 200 for code in codes)
    words = f"{failed} of {len(codes)} requests failed, the party grew by {grown:.0f} MiB"
    measured = {"failed": failed, "asked": len(codes), "grown_MiB": grown}
    return [Outcome("one party blocks another", failed == 0 and grown < MOST_MIB, words, measured)]


def _asked_meanwhile(scene: Scene, certs: Path, address: str, client) -> list[int]:
    mine = TlsFiles.from_folder(certs / "stranger")
    over, large = threading.Event(), scene.times(LARGE, least=3)

    def nothing() -> Iterator[bytes]:
        over.wait(60)
        yield from ()

    def send() -> None:
        with grpc_channel(address, mine, mine, "active") as channel:
            try:
                channel.unary_unary(EMBED)(bytes(LARGE_BYTES), timeout=30)
            except grpc.RpcError:
                return

    with grpc_channel(address, mine, mine, "active") as channel:
        held = [channel.stream_unary(EMBED).future(nothing(), timeout=60) for _ in range(HELD)]
        threads = [threading.Thread(target=send) for _ in range(large)]
        for thread in threads:
            thread.start()
        codes = []
        while any(thread.is_alive() for thread in threads) or len(codes) < 20:
            codes.append(ask(client, "1").status_code)
        over.set()
        for one in held:
            one.cancel()
    return codes


def _memory(pid: int) -> float:
    """The most that it has had so far, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))

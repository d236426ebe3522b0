"""Somebody removes the ledger's `-wal` file, while it runs and after a crash: are counts forgotten in silence?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks._red_team.base import Outcome, Scene, Served, ask, consumer
from privee.errors import PriveeError

OPTIONS = ("--defense", "label-only", "--releases", "10")


def attack(scene: Scene) -> Sequence[Outcome]:
    """Ten releases of one entity; the file goes; how many more are there?"""
    return [_while_it_runs(scene), _after_a_crash(scene)]


def _while_it_runs(scene: Scene) -> Outcome:
    with scene.gateway(scene.world(), *OPTIONS) as served, consumer(served.url, served.key()) as client:
        got = sum(ask(client, "1").status_code == 200 for _ in range(10))
        _wal(served).unlink()
        more = [ask(client, str(k)).status_code for k in (1, 1, 2, 2)]
    released = sum(status == 200 for status in more)
    words = f"{released} releases after the file was removed; answers {sorted(set(more))}"
    held = got == 10 and released == 0 and 503 in more
    return Outcome("-wal removed while it runs", held, words, {"before": got, "after": released})


def _after_a_crash(scene: Scene) -> Outcome:
    world, released, said = scene.world(), 0, ""
    with scene.gateway(world, *OPTIONS) as served:
        key = served.key()
        with consumer(served.url, key) as client:
            got = sum(ask(client, "1").status_code == 200 for _ in range(10))
        served.process.kill()
    _wal(served).unlink()
    addresses = {name: party.address for name, party in scene.parties(world).items()}
    again = world.gateway(addresses, OPTIONS, name="again", url=served.ledger)
    try:
        with consumer(again.wait_ready().address, key) as client:
            released = sum(ask(client, "1").status_code == 200 for _ in range(10))
    except PriveeError as error:
        said = str(error)
    finally:
        again.stop()
    words = f"{released} more releases after kill, rm and a new start" + (f": {said}" if said else "")
    return Outcome("-wal removed after a crash", got == 10 and released == 0, words, {"before": got, "after": released})


def _wal(served: Served) -> Path:
    return Path(served.ledger.removeprefix("sqlite:///") + "-wal")

"""Somebody removes the ledger's `-wal` file, while it runs and after a crash: are counts forgotten in silence?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from privee.errors import PriveeError
from privee.gateway.demo import World, running, running_parties
from tests.red_team.base import Outcome, Scene, ask, consumer

OPTIONS = ("--defense", "label-only", "--releases", "10")


def attack(scene: Scene) -> Sequence[Outcome]:
    """Ten releases of one entity; the file goes; how many more are there?"""
    return [_while_it_runs(scene.world("wal-1")), _after_a_crash(scene.world("wal-2"))]


def _while_it_runs(world: World) -> Outcome:
    with running(world, OPTIONS) as (gateway, _), consumer(gateway.address, world.api_key("consumer")) as client:
        got = sum(ask(client, "1").status_code == 200 for _ in range(10))
        _wal(world).unlink()
        more = [ask(client, str(k)).status_code for k in (1, 1, 2, 2)]
    released = sum(status == 200 for status in more)
    words = f"{released} releases after the file was removed; answers {sorted(set(more))}"
    held = got == 10 and released == 0 and 503 in more
    return Outcome("-wal removed while it runs", held, words, {"before": got, "after": released})


def _after_a_crash(world: World) -> Outcome:
    with running_parties(world, world.parties) as parties:
        addresses = {name: party.address for name, party in parties.items()}
        key = world.api_key("consumer")
        gateway = world.gateway(addresses, OPTIONS).wait_ready()
        with consumer(gateway.address, key) as client:
            got = sum(ask(client, "1").status_code == 200 for _ in range(10))
        gateway.kill()
        _wal(world).unlink()
        again, released, said = world.gateway(addresses, OPTIONS), 0, ""
        try:
            with consumer(again.wait_ready().address, key) as client:
                released = sum(ask(client, "1").status_code == 200 for _ in range(10))
        except PriveeError as error:
            said = str(error)
        finally:
            again.stop()
    words = f"{released} more releases after kill, rm and a new start" + (f": {said}" if said else "")
    return Outcome("-wal removed after a crash", got == 10 and released == 0, words, {"before": got, "after": released})


def _wal(world: World) -> Path:
    return world.folder / "ledger.db-wal"

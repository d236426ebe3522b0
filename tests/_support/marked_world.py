"""Two parties whose ids are marked, so that they can be looked for in every log and file."""

from pathlib import Path

import numpy as np

from privee.gateway.demo import PARTIES, World, make_world
from privee.processes import ServerProcess
from privee.vfl.experiment import train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.training import TrainingSettings

MARK = "zq7marked"


def person(number: int) -> str:
    return f"{MARK}-{number:03d}"


def make_marked_world(folder: Path) -> World:
    """Two parties' tables whose ids are marked, and all that a gateway needs."""
    draws = np.random.default_rng(1)
    people = [person(number) for number in range(60)]
    numbers = draws.random((60, 4))
    tables = {
        "active": {"id": people, "a": numbers[:, 0], "b": numbers[:, 1], "risk": (numbers.sum(1) > 2).astype(int)},
        "passive-1": {"id": people, "c": numbers[:, 2], "d": numbers[:, 3]},
    }
    for name, table in tables.items():
        lines = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
        (folder / f"{name}.csv").write_text("\n".join([",".join(table), *lines]) + "\n")
    files = {name: folder / f"{name}.csv" for name in PARTIES}
    data = from_tables(
        files, active="active", id_columns=dict.fromkeys(PARTIES, "id"), label="risk", test_share=0.3, seed=1
    )
    train_run(World(folder).run, data, "logistic", TrainingSettings(epochs=3, seed=1))
    return make_world(folder)


def start_party(world: World, name: str) -> ServerProcess:
    given = ["--data", str(world.folder / f"{name}.csv"), "--listen", "127.0.0.1:0", "--certs", str(world.certs / name)]
    files = world.folder / f"{name}.ready", world.folder / f"{name}.log"
    return ServerProcess(["party", "serve", str(world.run / "parties" / name), *given], *files)

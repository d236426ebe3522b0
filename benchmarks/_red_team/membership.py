"""Who is whose customer: ids outside the joint set, asked about with and without the active party's columns."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from benchmarks._red_team.base import Outcome, Scene, ask, consumer
from privee.durable.private_files import key_file
from privee.gateway.demo import MODEL, World
from privee.gateway.ledger.ledger import Ledger
from privee.pki.certificates import init_certificates
from privee.processes import start_party
from privee.vfl.experiment import train_run
from privee.vfl.own_tables import from_tables
from privee.vfl.training import TrainingSettings

PARTIES = ("bank", "shop")
ASKED = 40


def attack(scene: Scene) -> Sequence[Outcome]:
    """Ids of the shop alone, of the bank alone and of nobody must be answered alike."""
    world = _world(scene.folder / "membership")
    with ExitStack() as stack:
        addresses = {}
        for name in PARTIES:
            data = ["--data", str(world.folder / f"{name}.csv")]
            party = start_party(world.run / "parties" / name, data, world.certs / name, world.folder / f"{name}.log")
            stack.callback(party.stop)
            addresses[name] = party.wait_ready().address
        served = world.gateway(addresses, ("--defense", "label-only", "--unknown", "100000/day"))
        stack.callback(served.stop)
        client = stack.enter_context(consumer(served.wait_ready().address, world.api_key("consumer")))
        ids = [f"{group}-{k}" for group in ("shop", "bank", "nobody") for k in range(scene.times(ASKED, least=5))]
        different = {_told(client, one, columns) for one in ids for columns in (0, 1)}
        known = _told(client, "both-1", 1)
    words = f"{len(different)} different answer for ids outside the joint set, with columns and without"
    held = len(different) == 1 and known.startswith("200")
    return [Outcome("who is whose customer", held, words, {"answers": sorted(different), "known": known[:3]})]


def _told(client, entity: str, columns: int) -> str:
    """An answer as far as it can tell something."""
    answer = ask(client, entity, columns=[[0.5, 0.5]] if columns else None)
    return f"{answer.status_code} {answer.text if answer.status_code != 200 else ''}"


def _world(folder: Path) -> World:
    folder.mkdir(exist_ok=True)
    world = World(folder)
    files = {name: folder / f"{name}.csv" for name in PARTIES}
    rng = np.random.default_rng(5)
    for name, file in files.items():
        ids = [f"both-{k}" for k in range(120)] + [f"{name}-{k}" for k in range(60)]
        with file.open("w", newline="") as out:
            rows = csv.writer(out)
            rows.writerow(["id", f"{name}1", f"{name}2"] + (["risk"] if name == "bank" else []))
            for k, one in enumerate(ids):
                rows.writerow([one, *rng.random(2).round(4)] + ([k % 2] if name == "bank" else []))
    columns = dict.fromkeys(files, "id")
    data = from_tables(files, active="bank", id_columns=columns, label="risk", test_share=0.3, seed=1)
    train_run(folder / MODEL, data, "logistic", TrainingSettings(epochs=1, learning_rate=0.01))
    init_certificates(world.certs, PARTIES, ["localhost", "127.0.0.1"])
    with key_file(world.ledger_key):
        Ledger.create(world.ledger_url, world.ledger_key.read_bytes())
    return world

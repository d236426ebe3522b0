"""Leaderboards that take seconds: what is measured, and how it is kept."""

import dataclasses
import json

from privee.bench import SIZES, Bench, Plan, make_board
from privee.vfl.training import TrainingSettings

SIZE = dataclasses.replace(
    SIZES["quick"],
    records=30,
    auxiliary_rows=150,
    column_limit=100,
    worth_rows=60,
    parts=("once", "chosen", "ten", "sent"),
)
ATTACKS = ("equation-solving", "learned-inversion:simulations=1", "chosen-columns:questions=5", "sealed-code")
SHORT = TrainingSettings(epochs=12, batch_size=32, learning_rate=2e-2)


def plan(**more):
    given = {"defenses": ("none", "ordered-dp:epsilon=4"), "attacks": ATTACKS, "protections": ()} | more
    return Plan(size=given.pop("size", SIZE), datasets=("digits",), models=("logistic",), **given)


def measure(folder, wanted, **more):
    done = Bench(plan=wanted, folder=folder, jobs=1, **more).run()
    return done, make_board(wanted, folder, done, "test")


def lines(folder):
    files = (folder / "findings").glob("*/findings.jsonl")  # beside them checkpoints come and go
    return [json.loads(line)["key"] for file in files for line in file.read_text().splitlines()]

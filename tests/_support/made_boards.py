"""Leaderboards made by hand."""

from privee.bench.board import Board
from privee.bench.rows import Row
from privee.bench.summary import epsilon_of
from privee.bench.tried import Left

ABOUT = {
    "command": "privee bench --quick",
    "privee": "0",
    "date": "today",
    "machine": {"cores": 2, "system": "Linux"},
    "size": {
        "name": "quick",
        "slow": False,
        "seeds": 1,
        "records": 10,
        "auxiliary_rows": 20,
        "column_limit": 30,
        "worth_rows": 40,
    },
    "attacks": {"once": ["prior-informed"]},
    "left_out": ["boosted-trees"],
    "done": {"planned": 10, "measured": 8, "seconds": 3.0, "others": 0, "stopped": True},
}


def left(mean, worst=0.5):
    return Left(mean=mean, attack="prior-informed", worst=worst, column="a", column_attack="x", attacks=3, records=9)


def row(defense, dataset="digits", model="mlp", once=0.9, chosen=0.4, moved=0.1, accuracy=0.9, **more):
    worth = {
        "l1_moved": moved,
        "ranking_kept": 1.0,
        "top_kept": 1.0,
        "accuracy": accuracy,
        "auc": accuracy,
        "calibration_error": 0.1,
        "microseconds": 2.0,
        "structure": {"distances": 0.9, "distance_order": 0.8, "inner_products": 0.7, "correlations": 0.6},
        "epsilon": more.pop("epsilon", epsilon_of(defense)),
        "delta": None,
        "same": more.pop("same", "vectors with the same ranking"),
        "proven": "something",
        "order_proven": more.pop("order_proven", True),
    }
    asked = {"once": left(once), "ten": left(once), "chosen": left(chosen, worst=chosen / 2)}
    return Row(
        **({"dataset": dataset, "model": model, "protection": "", "defense": defense, "worth": worth} | asked | more)
    )


def board(*rows):
    return Board(about=ABOUT, rows=rows)

"""What pages speak of, small: a bank's and a shop's tables, a run on them, runs on digits, an own model."""

import csv
import functools
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet

from privee import new_key
from tests._support.commands import good
from tests._support.reader.following import Place

PEOPLE = 120
QUICK_AUDIT = "-a equation-solving -d none --seeds 1 --records 20 --auxiliary 40 --questions 0 --jobs 1"
MYMODULE = """
import numpy as np
from scipy.special import softmax

rng = np.random.default_rng(0)
WEIGHTS = rng.normal(size=(8, 4)) * 2
columns = rng.random((120, 8))


def parts():
    return (lambda a, p: softmax(np.hstack([a, p]) @ WEIGHTS, axis=1)), columns[:, :5], columns[:, 5:]
"""


def write_risk_tables(folder: Path) -> None:
    """`bank.csv`, and the shop's and a clinic's tables as CSV, Parquet and SQLite; ids are c1000 and on."""
    draw = random.Random(7)
    ids = [f"c{1000 + k}" for k in range(PEOPLE)]
    bank = {
        "income": [round(draw.gauss(50, 12), 2) for _ in ids],
        "age": [draw.randint(18, 80) for _ in ids],
        "job": [draw.choice(["clerk", "judge", "nurse"]) for _ in ids],
    }
    shop = {"basket": [round(draw.gauss(30, 9), 2) for _ in ids], "visits": [draw.randint(0, 20) for _ in ids]}
    clinic = {"pulse": [draw.randint(50, 100) for _ in ids], "smoker": [draw.choice(["yes", "no"]) for _ in ids]}
    worth = [i + b for i, b in zip(bank["income"], shop["basket"], strict=True)]
    bank["risk"] = ["low" if w > 88 else "middle" if w > 74 else "high" for w in worth]
    for name, table in (("bank", bank), ("shop", shop), ("clinic", clinic)):
        whole = {"customer": ids, **table}
        arrow_parquet.write_table(pa.table(whole), folder / f"{name}.parquet")
        with (folder / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([list(whole), *zip(*whole.values(), strict=True)])
    with closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("CREATE TABLE customers (customer TEXT, basket REAL, visits INTEGER)")
        rows = zip(ids, shop["basket"], shop["visits"], strict=True)
        database.executemany("INSERT INTO customers VALUES (?, ?, ?)", rows)


TABLES = ("--party", "bank=bank.csv", "--party", "shop=shop.parquet", "--active", "bank")
COLUMNS = ("--id", "customer", "--label", "risk")


def risk_run(place: Place) -> None:
    """The tables, and `runs/risk` trained on them."""
    write_risk_tables(place.folder)
    kept_run(place, "risk", (*TABLES, *COLUMNS, "--model", "logistic", "--epochs", "2"))


def digits_run(place: Place, name: str = "digits", model: str = "logistic", epochs: int = 2) -> None:
    """A run on digits."""
    kept_run(place, name, ("digits", "--model", model, "--epochs", str(epochs)))


def sealed_risk_run(place: Place) -> None:
    """`runs/risk-sealed`, of `runs/risk`."""
    kept = place.shared / "risk-sealed"
    if not kept.exists():
        good("seal", "runs/risk", "--codes", "4", *TABLES[:4], "--out", str(kept), cwd=place.folder)
    shutil.copytree(kept, place.folder / "runs" / "risk-sealed")


def own_module(place: Place) -> None:
    """`mymodule.py` with `parts`."""
    (place.folder / "mymodule.py").write_text(MYMODULE)


def own_model(place: Place) -> None:
    """The names `model`, `active_columns` and `passive_columns`, and an audit of two quick attacks and one seed."""
    space: dict = {}
    exec(MYMODULE, space)  # noqa: S102 (above)
    place.names.update(zip(("model", "active_columns", "passive_columns"), space["parts"](), strict=True))
    small_audit(place)


def small_audit(place: Place) -> None:
    """`privee.audit.audit`, small unless told otherwise."""
    import privee.audit

    attacks = ["equation-solving", "learned-inversion:simulations=1"]
    whole = privee.audit.audit
    place.patch(privee.audit, "audit", functools.partial(whole, attacks=attacks, seeds=1, records=30, jobs=1))


def key_file(place: Place) -> None:
    """`release.key`, made as the page on repeatable draws says."""
    file = place.folder / "release.key"
    file.write_bytes(new_key())
    file.chmod(0o600)


def some_scores(rows: int = 40, classes: int = 10) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(classes) / 3, rows)


def kept_run(place: Place, name: str, options: tuple[str, ...]) -> None:
    """A copy of a run that is trained once for all pages."""
    kept = place.shared / "-".join((name, *options)).replace("/", "_").replace("=", "_")
    if not kept.exists():
        good("train", *options, "--out", str(kept), cwd=place.folder)
    (place.folder / "runs").mkdir(exist_ok=True)
    shutil.copytree(kept, place.folder / "runs" / name)

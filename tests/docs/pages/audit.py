"""Runs and tables, a module of one's own, an earlier audit."""

import shutil

from tests._support.commands import good
from tests._support.reader.worlds import QUICK_AUDIT, digits_run, own_model, own_module, risk_run

SMALLER = {
    "privee audit --dataset": QUICK_AUDIT,
    "privee audit runs": QUICK_AUDIT,
    "privee audit --entry": QUICK_AUDIT,
    "privee attack": "--records 10 --auxiliary 40 --seed 0",
}


def prepare(place):
    risk_run(place)
    digits_run(place)
    own_module(place)
    own_model(place)
    for name in ("bank.csv", "shop.csv"):
        shutil.copy(place.folder / name, place.folder / f"new_{name}")
    good("audit", "--entry", "mymodule:parts", *QUICK_AUDIT.split(), "--out", "last-year", cwd=place.folder)
    if not shutil.which("chromium"):
        place.replace["--pdf report.pdf"] = ""

"""Made tables that are hard in the ways that tables of banks and shops are, each in the files of three parties.

Account balances with heavy tails, a class of 5 to 12 %, categories with many values, cells that are missing, effects
that rise and fall again, and effects of two parties' columns together. What is in them is made up; the seed makes
them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv

ACTIVE, ID, LABEL = "bank", "customer", "yes"

Columns = dict[str, Any]
Made = tuple[dict[str, Columns], Any]
"""Each party's columns, and the logit of the positive class but for its level."""


class HardTable(NamedTuple):
    """How many rows, how many of them positive, and what makes the columns."""

    rows: int
    positive: float
    make: Callable[[np.random.Generator, int], Made]


def marketing(draws: np.random.Generator, n: int) -> Made:
    """A campaign of a bank: balances with heavy tails, a duration, months, calls before."""
    age = np.clip(draws.gamma(9, 4.6, n), 18, 95).round()
    balance = np.sign(draws.random(n) - 0.08) * draws.lognormal(6.4, 1.6, n)
    calls, since = draws.geometric(0.4, n), np.where(draws.random(n) < 0.8, -1, draws.integers(1, 400, n))
    duration = draws.lognormal(5.2, 0.85, n)
    job, month = draws.choice(12, n, p=_falling(12)), draws.integers(0, 12, n)
    region, spent, visits = draws.choice(80, n, p=_falling(80)), draws.pareto(1.5, n) * 50, draws.poisson(3, n)
    logit = (
        1.1 * (np.log(duration) - 5.2)
        + 0.9 * np.exp(-(((age - 22) / 8) ** 2))
        + 0.7 * (age > 62)
        + 0.35 * np.tanh(np.log1p(np.maximum(balance, 0)) - 6.5)
        - 0.25 * np.minimum(calls, 6)
        + 0.8 * ((since > 0) & (since < 120))
        + _effect(draws, 12, 0.35)[job]
        + _effect(draws, 12, 0.5)[month]
        + _effect(draws, 80, 0.35)[region]
        + 0.5 * (spent > 200) * (balance > 1500)
        - 0.4 * np.abs(visits - 3)
    )
    bank = {"age": age, "balance": balance.round(2), "job": _words("job", job), "calls": calls}
    shop = {"spent": spent.round(2), "visits": _holes(draws, visits, 0.1), "region": _words("region", region)}
    phone = {"duration": duration.round(), "month": _words("month", month), "since": since}
    return {ACTIVE: bank, "shop": shop, "phone": phone}, logit


def credit(draws: np.random.Generator, n: int) -> Made:
    """Loans that fail: incomes and debts with heavy tails, ratios of two parties' columns, missing cells."""
    income, debt = draws.lognormal(10.3, 0.7, n), draws.lognormal(8.5, 1.5, n)
    late = draws.poisson(draws.gamma(0.35, 1.2, n))
    used, lines = draws.beta(0.7, 1.6, n), draws.poisson(7, n)
    age, months = draws.integers(19, 80, n), draws.exponential(40, n)
    purpose, branch = draws.choice(14, n, p=_falling(14)), draws.choice(95, n, p=_falling(95))
    transfers = draws.standard_t(2.2, n) * 900
    ratio = np.log(debt / income)
    logit = (
        0.55 * np.minimum(late, 5)
        + 0.8 * np.maximum(used - 0.6, 0) * 4
        + 0.4 * np.maximum(ratio + 1.5, -1.5)
        - 0.9 * np.tanh(months / 50)
        + 0.5 * (lines < 3)
        + 0.35 * (lines > 14)
        + 0.6 * (age < 25) * (used > 0.4)
        + _effect(draws, 14, 0.4)[purpose]
        + _effect(draws, 95, 0.3)[branch]
        - 0.35 * np.sign(transfers) * np.log1p(np.abs(transfers)) / 5
    )
    bank = {"income": _holes(draws, income.round(), 0.15), "age": age, "purpose": _words("purpose", purpose)}
    bureau = {"debt": debt.round(), "late": late, "used": used.round(4), "lines": lines}
    shop = {"months": months.round(1), "transfers": transfers.round(2), "branch": _words("branch", branch)}
    return {ACTIVE: bank, "bureau": bureau, "shop": shop}, logit


HARD_TABLES: Mapping[str, HardTable] = {
    "marketing, 40,000 rows": HardTable(40_000, 0.08, marketing),
    "credit, 30,000 rows": HardTable(30_000, 0.06, credit),
    "marketing, 800 rows": HardTable(800, 0.12, marketing),
    "credit, 400 rows": HardTable(400, 0.3, credit),
}


def write_tables(name: str, folder: Path, seed: int) -> dict[str, Path]:
    """Write a table's files, rows in an order of each party's own; the active party's file has the label."""
    table = HARD_TABLES[name]
    draws = np.random.default_rng(seed)
    parts, logit = table.make(draws, table.rows)
    chance = 1 / (1 + np.exp(-(logit + _level(logit, table.positive))))
    parts[ACTIVE][LABEL] = np.where(draws.random(table.rows) < chance, "yes", "no")
    files = {}
    for party, columns in parts.items():
        whole = pa.table({ID: [f"c{k:06}" for k in range(table.rows)]} | columns)
        files[party] = folder / f"{party}.csv"
        arrow_csv.write_csv(whole.take(draws.permutation(table.rows)), files[party])
    return files


def _level(logit: Any, positive: float) -> float:
    """What to add to the logits so that this share is positive, by halving."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (1 / (1 + np.exp(-(logit + middle)))).mean() < positive else (low, middle)
    return low


def _falling(n: int) -> Any:
    """A few values are frequent and many are rare."""
    weights = 1 / np.arange(1, n + 1) ** 0.8
    return weights / weights.sum()


def _effect(draws: np.random.Generator, n: int, size: float) -> Any:
    return draws.normal(0, size, n)


def _words(name: str, codes: Any) -> list[str]:
    return [f"{name}{code}" for code in codes]


def _holes(draws: np.random.Generator, values: Any, share: float) -> Any:
    return pa.array(values, mask=draws.random(len(values)) < share)

"""How long order-preserving encryption takes beside pyope, and what its releases give away.

    python benchmarks/ope.py            prints the tables and stores benchmarks/results/ope.json

Needs pyope (a few values only, it takes milliseconds for each). Bars: at least 3 times faster per value for one vector
of 10 classes, 100 times for 1,000 classes; both measured by turns in one run.
"""

from __future__ import annotations

import itertools
import json
import math
import platform
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from pyope.ope import OPE, ValueRange
from rich.console import Console
from rich.table import Table
from scipy import stats

import privee
from privee.baselines import FrequencyHidingEncryption, FrequencyHidingState, OrderPreservingEncryption
from privee.baselines.ope.cipher import OrderPreservingCipher
from privee.baselines.ope.frequency_hiding_encryption import fit_scores

RESULTS = Path(__file__).parent / "results" / "ope.json"
BARS = {10: 3.0, 100: 20.0, 1000: 100.0, 10_000: 500.0}
ROUNDS, PYOPE_VALUES = 9, 4


def softmax(rows: int, classes: int, spread: float, seed: int = 0) -> np.ndarray:
    logits = np.random.default_rng(seed).normal(size=(rows, classes)) * spread
    scores = np.exp(logits - logits.max(axis=1, keepdims=True))
    return scores / scores.sum(axis=1, keepdims=True)


def microseconds(work: Callable[[], object], values: int) -> float:
    start = time.perf_counter()
    work()
    return 1e6 * (time.perf_counter() - start) / values


def speed() -> list[dict[str, float]]:
    """One vector of K classes at a time, by turns with pyope on some of its values."""
    ours, hiding = OrderPreservingEncryption(seed=1), FrequencyHidingEncryption()
    theirs = OPE(bytes(16), ValueRange(0, 2**24 - 1), ValueRange(0, 2**48 - 1))
    rows = []
    for classes, bar in BARS.items():
        scores = softmax(1, classes, 1.0)[0]
        ciphertexts = ours.encrypt(scores)
        some = [round(c * (2**24 - 1)) for c in scores[:PYOPE_VALUES].tolist()]
        timed = [
            (
                microseconds(lambda c=scores: ours.release(c), classes),
                microseconds(lambda values=some: [theirs.encrypt(v) for v in values], len(some)),
                microseconds(lambda c=ciphertexts: ours.decrypt(c), classes),
                microseconds(lambda c=scores: hiding.release(c), classes),
            )
            for _ in range(ROUNDS)
        ]
        release, pyope, decrypt, fh = (statistics.median(column) for column in zip(*timed, strict=True))
        ratio = statistics.median(b / a for a, b, _, _ in timed)
        rows.append({"classes": classes, "bar": bar, "ratio": ratio, "release_us": release, "pyope_us": pyope})
        rows[-1] |= {"decrypt_us": decrypt, "fh_ope_us": fh}
    return rows


def uniformity(keys: int = 2000) -> dict[str, float]:
    """Chi-square (69 degrees of freedom) over all 70 order-preserving functions from 4 plaintexts to 8 ciphertexts."""
    functions, names = list(itertools.combinations(range(8), 4)), [k.to_bytes(16, "big") for k in range(keys)]
    ours = Counter(tuple(OrderPreservingCipher(k, 2, 3).encrypt(np.arange(4)).tolist()) for k in names)
    sizes = ValueRange(0, 3), ValueRange(0, 7)
    theirs = Counter(tuple(OPE(k, *sizes).encrypt(x) for x in range(4)) for k in names)
    found = {}
    for name, seen in (("ope", ours), ("pyope", theirs)):
        test = stats.chisquare([seen[function] for function in functions])
        found |= {f"{name}_chi_square": float(test.statistic), f"{name}_p": float(test.pvalue)}
    return found | {"keys": keys}


def rms(estimates: np.ndarray, scores: np.ndarray) -> float:
    return math.sqrt(np.square(estimates - scores).mean())


def given_away() -> list[dict[str, float]]:
    """Errors of what an attacker without the key computes: root mean square over 500 vectors, mean over 5 keys."""
    rows = []
    for classes, spread in ((3, 3.0), (10, 3.0), (10, 1.0), (100, 3.0)):
        found = []
        for seed in range(5):
            scores = softmax(500, classes, spread, seed)
            defense = OrderPreservingEncryption(seed=seed)
            release, state = defense.release(scores), FrequencyHidingState()
            shared = state.encrypt(scores, privee.seeded(seed)) * 2.0**-52
            errors = {
                "ope_release": rms(release, scores),
                "ope_each_vector": rms(np.stack([defense.estimate_scores(r) for r in release[:100]]), scores[:100]),
                "ope_together": rms(defense.estimate_scores(release), scores),
                "fh_own_tree": rms(FrequencyHidingEncryption().estimate_scores(shared), scores),
                "fh_shared_state": rms(fit_scores(shared), scores),
            }
            found.append(errors)
        means = {name: statistics.fmean(one[name] for one in found) for name in found[0]}
        rows.append({"classes": classes, "spread": spread} | means)
    return rows


def show(results: dict[str, object]) -> bool:
    console, met = Console(width=110), True
    for title, rows in (("Microseconds for each value", results["speed"]), ("Error", results["given_away"])):
        table = Table(*rows[0], title=title)
        for row in rows:
            met &= row.get("ratio", 1) >= row.get("bar", 0)
            table.add_row(*(f"{value:,.4g}" for value in row.values()))
        console.print(table)
    console.print(results["uniformity"])
    return met


if __name__ == "__main__":
    versions = {"python": platform.python_version(), "numpy": np.__version__, "privee": privee.__version__}
    measured = {"versions": versions, "speed": speed(), "uniformity": uniformity(), "given_away": given_away()}
    met = show(measured)
    RESULTS.write_text(json.dumps(measured, indent=1) + "\n")
    print("all bars met" if met else "a bar was missed")
    sys.exit(0 if met else 1)

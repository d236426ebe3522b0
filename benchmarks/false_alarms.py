"""How often does an audit see a leak where there is none, and does it see one where there is?

    python benchmarks/false_alarms.py [--audits 100] [--rows 3000] [--cases ignores shuffled telling]
        [--questions 5]

Every audit draws a new table of three parties with numbers, yes/no columns and categories, some of which go with the
active party's own columns, and fits a logistic model. Releases that say nothing:

ignores    the model was fitted on own columns alone, so its scores say nothing about the private ones
shuffled   every record gets the release of another one
Releases that say something, where a plain gradient-boosting attacker has an AUC above 0.9 for a column:
telling    one rare category decides; the scores are released as they are

False alarms are audits in which any column is graded worse than guarded; misses are audits in which the telling column
is graded better than weak. With --questions an attacker also asks so often, with own columns of its choice, and its
grades count by themselves ("ignores, asked again"). Prints a table and stores benchmarks/results/false_alarms.json.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.special import softmax
from scipy.stats import beta
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from privee.audit import Grid, run_grid, subject_from_arrays
from privee.data.columns import SourceColumn
from privee.defenses import Defense
from privee.defenses.registry import register

RESULTS = Path(__file__).parent / "results" / "false_alarms.json"
ATTACKS = (
    "boosted-trees",
    "boosted-trees:own_columns=false",
    "logistic-regression",
    "learned-inversion",
    "prior-informed",
)
CASES = {"ignores": "none", "shuffled": "shuffled-records", "telling": "none"}


def make_table(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray, tuple[SourceColumn, ...], Any]:
    """Own columns, private columns in [0, 1], what they are, and the log-odds of the label."""
    own = rng.random((rows, 6))
    hidden = 0.6 * own[:, 0] + 0.4 * rng.random(rows)
    heavy = np.minimum(rng.pareto(1.5, rows), 50) / 50
    flag = (rng.random(rows) < 0.1 + 0.3 * own[:, 1]).astype(float)
    spike = np.where(rng.random(rows) < 0.8, 0.0, rng.random(rows))
    few = np.eye(4)[rng.choice(4, rows, p=[0.8, 0.1, 0.07, 0.03])]
    many = np.eye(9)[rng.integers(0, 9, rows)]
    private = np.column_stack([hidden, heavy, flag, spike, few, many])
    names = ["hidden", "heavy", "flag", "spike"]
    columns = [SourceColumn(name=n, party="shop", kind="number", places=(6 + k,)) for k, n in enumerate(names)]
    for name, start, width in (("few", 10, 4), ("many", 14, 9)):
        places, values = tuple(range(start, start + width)), tuple("abcdefghi"[:width])
        columns.append(SourceColumn(name=name, party="bureau", kind="category", places=places, values=values))
    odds = 2 * own[:, 0] - 2 * own[:, 1] + 0.5 * hidden + 3 * few[:, 3] - 1
    return own, private, tuple(columns), odds


@register
@dataclasses.dataclass(frozen=True)
class ShuffledRecords(Defense):
    """Releases the scores of other records: exactly as scores look, and they say nothing."""

    name: ClassVar[str] = "shuffled-records"
    summary: ClassVar[str] = "the scores of other records"

    def _release(self, rows: Any, sums: Any, draws: Any) -> Any:
        return rows[np.argsort(draws.uniform(len(rows)), kind="stable")]

    def _estimate(self, release: Any) -> Any:
        return release

    def guarantee(self, n_classes: int) -> Any:
        """Nothing about a record is in its release."""
        from privee.defenses import LabelOnly

        return LabelOnly().guarantee(n_classes)


def audit_once(case: str, seed: int, rows: int, questions: int = 0) -> list[dict[str, Any]]:
    """One table, one model, one audit."""
    rng = np.random.default_rng([seed, *case.encode()])
    own, private, columns, odds = make_table(rng, 3 * rows)
    labels = (rng.random(len(own)) < 1 / (1 + np.exp(-odds))).astype(int)
    fit_on = own if case == "ignores" else np.hstack([own, private])
    fitted = LogisticRegression(C=100, max_iter=500).fit(fit_on[:rows], labels[:rows])
    weights = np.zeros(own.shape[1] + private.shape[1])
    weights[: fit_on.shape[1]] = fitted.coef_[0]

    def model(a: Any, p: Any) -> Any:
        logit = np.hstack([a, p]) @ weights + fitted.intercept_[0]
        return softmax(np.column_stack([np.zeros(len(logit)), logit]), axis=1)

    subject = subject_from_arrays(model, own[rows:], private[rows:], labels=labels[rows:])
    own_described = tuple(c for c in subject.described if c.party == "active")
    subject = dataclasses.replace(subject, described=(*own_described, *columns))
    grid = Grid(defenses=(CASES[case],), attacks=ATTACKS, seeds=(seed,), column_limit=rows, curves=False)
    if questions:
        grid = dataclasses.replace(grid, questions=(questions,))
    (card,) = run_grid([subject], grid, jobs=1).cards
    found = {column.name: column.grade for column in card.columns}
    told = plain_attacker(model(own[rows:], private[rows:]), own[rows:], private[rows:, 7] > 0.5)
    audits = [{"case": case, "seed": seed, "grades": found, "plain_auc": told}]
    if card.most_asked is not None:
        again = {column.name: column.grade for column in card.most_asked.columns}
        audits.append({"case": f"{case}, asked again", "seed": seed, "grades": again, "plain_auc": told})
    return audits


def plain_attacker(scores: np.ndarray, own: np.ndarray, holds: np.ndarray) -> float:
    """Gradient boosting on score and own columns, half of the rows to learn from."""
    inputs, half = np.column_stack([scores[:, 1], own]), len(own) // 2
    told = HistGradientBoostingClassifier(random_state=0).fit(inputs[:half], holds[:half])
    return float(roc_auc_score(holds[half:], told.predict_proba(inputs[half:])[:, 1]))


def bounds(count: int, of: int) -> tuple[float, float]:
    """Exact 95 % interval of a share (Clopper-Pearson)."""
    low = float(beta.ppf(0.025, count, of - count + 1)) if count else 0.0
    high = float(beta.ppf(0.975, count + 1, of - count)) if count < of else 1.0
    return low, high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--audits", type=int, default=100)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--questions", type=int, default=0)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    chosen = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for k in range(chosen.audits):
        rows += [row for case in chosen.cases for row in audit_once(case, k, chosen.rows, chosen.questions)]
        store(chosen.out, chosen.rows, rows)  # as far as it is: this takes long
        print(f"{k + 1} of {chosen.audits}", flush=True)
    table = Table("case", "audits", "wrong", "share", "95 % interval")
    for row in summed_up(rows):
        share = f"{row['wrong'] / row['audits']:.1%}"
        table.add_row(
            row["case"], str(row["audits"]), str(row["wrong"]), share, f"{row['low']:.1%} to {row['high']:.1%}"
        )
    Console().print(table)


def summed_up(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """By case: how many audits were wrong, with an interval."""
    results = []
    for case in dict.fromkeys(row["case"] for row in rows):
        mine = [row for row in rows if row["case"] == case]
        if case.startswith("telling"):
            mine = [row for row in mine if row["plain_auc"] > 0.9]
            wrong = sum(row["grades"].get("few") not in ("open", "weak") for row in mine)
        else:
            wrong = sum(any(grade != "guarded" for grade in row["grades"].values()) for row in mine)
        if mine:
            low, high = bounds(wrong, len(mine))
            results.append({"case": case, "audits": len(mine), "wrong": wrong, "low": low, "high": high})
    return results


def store(file: Path, rows: int, audits: list[dict[str, Any]]) -> None:
    """All audits so far, and what they come to."""
    kept = {"rows": rows, "attacks": list(ATTACKS), "results": summed_up(audits), "audits": audits}
    file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

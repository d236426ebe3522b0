"""Columns, people and utility of audits made by hand."""

import dataclasses
import math

from privee.audit.exposure import Bound, ColumnExposure, PeopleExposure
from privee.audit.grades import GRADES, grade_of
from privee.data.columns import SourceColumn
from privee.scores import Utility

ATTACK = "learned-inversion"
PEOPLE = 1000
LOAN_COLUMNS = {  # party, values of a category, what the scores as they are leave of it, sensitive
    "previous outcome": ("telco", ("failure", "success", "unknown"), 0.05, True),
    "call duration": ("telco", (), 0.19, False),
    "balance": ("registry", (), 0.34, True),
    "months since contact": ("telco", (), 0.47, False),
    "age": ("registry", (), 0.62, False),
    "housing loan": ("registry", ("no", "yes"), 0.71, False),
    "campaign calls": ("telco", (), 0.78, False),
    "day of the month": ("telco", (), 0.84, False),
    "education": ("registry", ("primary", "secondary", "tertiary"), 0.93, False),
    "marital status": ("registry", ("divorced", "married", "single"), 0.96, False),
    "job": ("registry", ("blue collar", "management", "retired", "technician"), 0.98, False),
    "in default": ("registry", ("no", "yes"), 1.0, True),
    "personal loan": ("registry", ("no", "yes"), 1.0, False),
    "phone type": ("telco", ("cellular", "telephone"), 1.0, False),
}
SCORES = Utility(
    rows=4000,
    accuracy=0.892,
    balanced_accuracy=0.661,
    f1=0.474,
    auc=0.861,
    average_precision=0.521,
    brier=0.081,
    calibration_error=0.012,
)
OWN_COLUMNS = dataclasses.replace(SCORES, accuracy=0.885, f1=0.21, auc=0.689, average_precision=0.27)
MAJORITY = Utility(
    rows=4000,
    accuracy=0.883,
    balanced_accuracy=0.5,
    f1=0.0,
    auc=0.5,
    average_precision=0.117,
    brier=0.103,
    calibration_error=0.0,
)
AUC = {"top-k": 0.861, "rounding:digits=2": 0.852, "gaussian:epsilon=1": 0.741, "gaussian:epsilon=0.5": 0.556}
ACCURACY = {"gaussian:epsilon=1": 0.84, "gaussian:epsilon=0.5": 0.61}


def loan_columns() -> tuple[SourceColumn, ...]:
    found, start = [], 0
    for name, (party, values, _, sensitive) in LOAN_COLUMNS.items():
        width = max(1, len(values))
        kind = "category" if values else "number"
        places = tuple(range(start, start + width))
        found.append(SourceColumn(name=name, party=party, kind=kind, places=places, values=values, sensitive=sensitive))
        start += width
    return tuple(found)


def pixels(count: int) -> tuple[SourceColumn, ...]:
    return tuple(
        SourceColumn(name=f"pixel {4 + k // 8},{1 + k % 8}", party="passive", kind="number", places=(k,))
        for k in range(count)
    )


def exposures(columns: tuple[SourceColumn, ...], left: float, *, told: float = 0.0) -> tuple[ColumnExposure, ...]:
    """What a defense that leaves this share leaves of each column; the worst one first.

    A column that is not among the loans' keeps `told` of what it has when the scores go out as they are.
    """
    found = []
    for k, column in enumerate(columns):
        bare = LOAN_COLUMNS[column.name][2] if column.name in LOAN_COLUMNS else told + (k % 8) / 9
        found.append(exposure(column, min(1.0, bare + (1 - bare) * left**2)))
    return tuple(sorted(found, key=lambda one: (list(GRADES).index(one.grade), one.remaining)))


def exposure(column: SourceColumn, remaining: float) -> ColumnExposure:
    question = column.values[-1] if column.values else "in the top tenth"
    sure = remaining < 0.95
    auc = 1 - remaining * (1 - 0.64)
    number = column.kind == "number"
    return ColumnExposure(
        name=column.name,
        party=column.party,
        kind=column.kind,
        sensitive=column.sensitive,
        grade=grade_of(remaining),
        remaining=remaining,
        low=max(0.0, remaining - 0.06),
        high=remaining + 0.06,
        by=question if column.values else "error",
        attack=ATTACK,
        attacker="adaptive",
        p_value=1e-9 if sure else 0.4,
        settled=column.name != "marital status",
        records=PEOPLE,
        error=0.08 * remaining,
        guess_error=0.08,
        correlation=math.sqrt(1 - 0.8 * remaining) if number else None,
        guess_correlation=0.31 if number else None,
        question=question,
        base_rate=0.1,
        auc=auc,
        auc_low=auc - 0.03,
        auc_high=min(1.0, auc + 0.03),
        guess_auc=0.64,
        precision=0.1 + 0.8 * (1 - remaining),
        guess_precision=0.17,
        alone_auc=0.5 + 0.35 * (1 - remaining),
        known=0.12 + 0.6 * (1 - remaining),
        guess_known=0.12,
        surest=remaining / 2,
        surest_known=0.12 + 0.85 * (1 - remaining),
        guess_surest_known=0.13,
    )


def people(left: float) -> PeopleExposure:
    return PeopleExposure(
        bound=Bound(),
        records=PEOPLE,
        attack=ATTACK,
        known=0.22 + 0.61 * (1 - left),
        guess_known=0.22,
        newly=0.02 + 0.6 * (1 - left),
        lost=0.02,
        most_exposed=0.04 + 0.96 * left,
    )


def utility(spec: str) -> Utility:
    """Two classes: what tells the class alone has hardly any order left."""
    auc = 0.661 if spec in {"ranking-only", "label-only"} else AUC.get(spec, SCORES.auc)
    changed = {"auc": auc, "average_precision": SCORES.average_precision * auc / SCORES.auc}
    if spec != "none":
        changed |= {"brier": None, "calibration_error": None}
    return dataclasses.replace(SCORES, accuracy=ACCURACY.get(spec, SCORES.accuracy), **changed)

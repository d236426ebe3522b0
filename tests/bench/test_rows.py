"""Rows from cells made by hand: the best attack counts, and only where it may."""

import dataclasses

import numpy as np
import pytest

from privee.audit.exposure.findings import ColumnFinding
from privee.audit.exposure.judging import judge, pooled
from privee.audit.results import Finding
from privee.bench.cases import Case
from privee.bench.cells import plain_finding
from privee.bench.rows import make_row, mean_worth
from privee.bench.tried import left_of, tried_of
from privee.data.columns import columns_of_names

CASE = Case(dataset="digits", model="logistic")


def column(number, error, guess=1.0, gain_se=0.01):
    return ColumnFinding(
        column=number,
        rows=100,
        error=error,
        guess_error=guess,
        gain_se=gain_se,
        ratio_se=gain_se,
        correlation=None,
        guess_correlation=None,
        known=0.0,
        guess_known=0.0,
        surest=1.0,
        surest_known=0.0,
        guess_surest_known=0.0,
    )


def found(attack, share, columns=(), **more):
    return Finding(
        subject="s",
        defense="none",
        attack=attack,
        attacker="adaptive",
        seed=more.pop("seed", 0),
        guess_normalised=share,
        records=60,
        columns=columns,
        **more,
    )


def cell(*findings, as_once=False):
    return {"columns": ["a", "b"], "findings": [plain_finding(one) for one in findings], "as_once": as_once}


def parts(*kept):
    """By name, the cells of every seed."""
    gathered = {}
    for what, values in kept:
        gathered.setdefault(what, []).append(values)
    return gathered


ONCE = found("prior-informed", 0.8, (column(0, 0.9), column(1, 0.5)))
TEN = found("prior-informed", 0.6, (column(0, 0.8), column(1, 0.55)), queries=10)
CHOSEN = found("chosen-columns:questions=5", 0.3, (column(0, 0.1), column(1, 0.5)), questions=5)
WORTH = {"worth": {"l1_moved": 0.5}}


def test_the_best_attack_counts_on_average_and_by_column():
    left = left_of(tried_of([found("equation-solving", 1.4), ONCE], ["a", "b"]))
    assert (left.mean, left.attack, left.worst, left.column) == (0.8, "prior-informed", pytest.approx(0.5), "b")
    assert left.attacks == 2


def test_no_attack_is_credited_with_more_than_a_guess():
    left = left_of(tried_of([found("equation-solving", 1.4, (column(0, 1.3),))], ["a", "b"]))
    assert (left.mean, left.attack, left.worst, left.column) == (1.0, "", 1.0, "")


def test_a_column_counts_as_told_only_beyond_chance():
    lucky = found("prior-informed", 0.97, (column(0, 0.9, gain_se=0.08), column(1, 1.0)))
    left = left_of(tried_of([lucky], ["a", "b"]))
    assert (left.worst, left.column, left.column_attack) == (0.97, "", "")  # no column by name, and no less than all
    assert left_of(tried_of([found("prior-informed", 0.97, (column(0, 0.9),))], ["a", "b"])).worst == pytest.approx(0.9)


def test_the_column_told_best_is_never_said_to_be_left_with_more_than_the_average():
    """Those that pass for no chance are not always those that are told best."""
    sure, maybe = column(0, 0.9, gain_se=0.01), column(1, 0.1, gain_se=0.5)
    left = left_of(tried_of([found("prior-informed", 0.5, (sure, maybe))], ["a", "b"]))
    assert (left.worst, left.column) == (0.5, "")
    only = left_of(tried_of([found("prior-informed", 0.95, (sure, maybe))], ["a", "b"]))
    assert (only.worst, only.column) == (pytest.approx(0.9), "a")


def test_records_are_those_of_the_attack_that_counts():
    many = dataclasses.replace(found("equation-solving", 1.4), records=100)
    assert left_of(tried_of([many, ONCE], ["a", "b"])).records == ONCE.records != 100


def test_the_few_columns_that_are_kept_judge_as_all_columns_do():
    """Random columns and attacks, however many there are to be told from chance: as `judge` has it over all."""
    random = np.random.default_rng(3)
    names = [f"c{n}" for n in range(40)]
    for _ in range(60):
        some = [
            found(attack, 0.9, tuple(column(n, *_luck(random)) for n in range(40)))
            for attack in ("equation-solving", "prior-informed", "learned-inversion")[: random.integers(1, 4)]
        ]
        attempts = [pooled(one.attack, "adaptive", False, [one.columns]) for one in some]
        told = next((one for one in judge(columns_of_names(names, "passive"), attempts) if one.told), None)
        left = left_of(tried_of(some, names))
        surely = told is not None and told.remaining < 0.9
        assert left.worst == pytest.approx(told.remaining if surely else 0.9, abs=1e-6)
        assert left.column == (told.name if surely else "")
        assert all(len(one.told) < 12 for one in tried_of(some, names))


def _luck(random):
    return random.uniform(0.5, 1.2), 1.0, random.uniform(0.001, 0.3)


def test_seeds_are_averaged_before_the_best_is_picked():
    """A lucky seed of one attack does not beat an attack that is better on average."""
    some = [found("a-lucky", 0.1), found("a-lucky", 1.1, seed=1), found("steady", 0.5), found("steady", 0.5, seed=1)]
    left = left_of(tried_of(some, []))
    assert (left.attack, left.mean) == ("steady", 0.5)


def test_what_could_not_be_tried_leaves_nothing_to_say():
    assert left_of(tried_of([found("equation-solving", None, status="skipped")], ["a"])) is None


def test_who_may_ask_more_may_also_ask_less():
    weak_ten, weak_chosen = (
        found("prior-informed", 0.9, queries=10),
        found("chosen-columns:questions=5", 2.0, questions=5),
    )
    row = make_row(
        CASE,
        "none",
        parts(("worth", WORTH), ("once", cell(ONCE)), ("ten", cell(weak_ten)), ("chosen", cell(weak_chosen))),
    )
    assert (row.once.mean, row.ten.mean, row.chosen.mean) == (0.8, 0.8, 0.8)
    row = make_row(
        CASE, "none", parts(("worth", WORTH), ("once", cell(ONCE)), ("ten", cell(TEN)), ("chosen", cell(CHOSEN)))
    )
    assert (row.once.mean, row.ten.mean, row.chosen.mean, row.least) == (0.8, 0.6, 0.3, 0.3)
    assert (row.once.worst, row.chosen.worst, row.chosen.column) == (pytest.approx(0.5), pytest.approx(0.1), "a")


def test_the_same_release_again_tells_what_one_tells():
    row = make_row(CASE, "none", parts(("worth", WORTH), ("once", cell(ONCE)), ("ten", cell(as_once=True))))
    assert row.ten == row.once
    assert row.chosen is None
    assert row.least is None  # chosen columns were not tried


def test_more_than_five_questions_and_what_is_sent_are_not_what_five_questions_tell():
    many, sent = found("zeroth", 0.01, questions=1000), found("embedding-inversion", 0.02)
    some = parts(("worth", WORTH), ("once", cell(ONCE)), ("chosen", cell(CHOSEN, many)), ("sent", cell(sent)))
    row = make_row(CASE, "none", some)
    assert (row.once.mean, row.chosen.mean, row.coordinator.mean) == (0.8, 0.3, 0.02)


def test_what_is_missing_is_said_and_what_cannot_be_used_has_its_reason():
    row = make_row(CASE, "none", parts(("worth", WORTH), ("once", None), ("once", None), ("ten", None)))
    assert row.missing == ("once", "ten")
    assert row.once is None
    row = make_row(CASE, "none", parts(("worth", {"worth": {"reason": "not for two classes"}}), ("once", None)))
    assert (row.reason, row.missing, row.worth) == ("not for two classes", (), {})


def test_worth_is_a_mean_over_seeds_and_the_quickest_time():
    some = [
        {"l1_moved": 1.0, "microseconds": 4.0, "epsilon": None, "structure": {"distances": 0.0}, "order_proven": True},
        {"l1_moved": 2.0, "microseconds": 3.0, "epsilon": None, "structure": {"distances": 1.0}, "order_proven": True},
    ]
    found = mean_worth(some)
    assert (found["l1_moved"], found["microseconds"], found["structure"]) == (1.5, 3.0, {"distances": 0.5})
    assert found["order_proven"] is True
    assert found["seeds"] == 2

"""One judgement of each column: what is told beyond chance counts, and nothing else does."""

import dataclasses

import numpy as np
import pytest
from scipy.stats import binom

from privee.audit.exposure.findings import Bound, ColumnFinding, QuestionFinding
from privee.audit.exposure.judging import judge, pooled
from privee.audit.exposure.measuring import measure
from privee.data.columns import SourceColumn

NAMES = ("age", "balance")
COLUMNS = tuple(SourceColumn(name=n, party="shop", kind="number", places=(k,)) for k, n in enumerate(NAMES))


def question(auc: float, guess: float, positives: int = 200, error: float = 0.01, **more) -> QuestionFinding:
    return QuestionFinding(
        **{
            "words": "yes",
            "positives": positives,
            "auc": auc,
            "auc_se": error,
            "guess_auc": guess,
            "gain_se": error,
            "precision": 0.5,
            "guess_precision": 0.1,
        }
        | more
    )


def column(number: int = 0, error: float = 0.1, guess: float = 0.1, *asked: QuestionFinding, **more) -> ColumnFinding:
    return ColumnFinding(
        **{
            "column": number,
            "rows": 1000,
            "error": error,
            "guess_error": guess,
            "gain_se": 0.001,
            "ratio_se": 0.01,
            "correlation": None,
            "guess_correlation": None,
            "known": 0.0,
            "guess_known": 0.0,
            "surest": 1.0,
            "surest_known": 0.0,
            "guess_surest_known": 0.0,
            "questions": asked,
        }
        | more
    )


def judged(*findings: ColumnFinding, alone: bool = False):
    return judge(COLUMNS, [pooled("boosted-trees", "adaptive", alone, [findings])])


@pytest.mark.parametrize(
    ("error", "grade"), [(0.001, "open"), (0.03, "weak"), (0.07, "partial"), (0.095, "guarded"), (0.2, "guarded")]
)
def test_errors_are_graded_as_shares_of_the_guess(error, grade):
    assert judged(column(0, error, 0.1))[0].grade == grade


@pytest.mark.parametrize(
    ("auc", "guess", "grade"),
    [
        (0.967, 0.57, "open"),
        (0.91, 0.5, "weak"),
        (0.8, 0.5, "weak"),
        (0.7, 0.5, "partial"),
        (0.52, 0.5, "guarded"),
        (0.96, 0.9, "weak"),  # by its share it is partial, but what is told with more than 0.9 is weak at best
        (0.89, 0.8, "weak"),  # it may well be above 0.9
        (0.5, 0.7, "guarded"),
    ],
)
def test_questions_are_graded_by_how_much_of_the_way_to_certainty_is_left(auc, guess, grade):
    (one,) = judged(column(0, 0.1, 0.1, question(auc, guess)))
    assert one.grade == grade
    if grade != "guarded":
        assert (one.by, one.auc, one.guess_auc, one.question) == ("yes", auc, guess, "yes")
        assert one.low < one.remaining < one.high


def test_a_column_that_the_mean_hides_comes_first():
    found = judged(column(0, 0.0999, 0.1), column(1, 0.095, 0.1, question(0.97, 0.6)))
    assert [(one.name, one.grade) for one in found] == [("balance", "open"), ("age", "guarded")]


def test_what_the_release_alone_tells_is_weak_at_best_even_where_own_columns_tell_as_much():
    same = column(0, 0.1, 0.1, question(0.95, 0.95))
    assert judged(same)[0].grade == "guarded"
    (one,) = judged(same, alone=True)
    assert (one.grade, one.alone_auc) == ("weak", 0.95)
    assert judged(column(0, 0.1, 0.1, question(0.52, 0.95)), alone=True)[0].grade == "guarded"


def test_what_chance_may_do_is_not_told():
    (one,) = judged(column(0, 0.1, 0.1, question(0.7, 0.5, positives=12, error=0.11)))
    assert (one.grade, one.settled) == ("guarded", True)
    (one,) = judged(column(0, 0.1, 0.1, question(0.8, 0.5, positives=12, error=0.12)))
    assert (one.grade, one.settled) == ("guarded", False)  # it looks like a leak, with too few records to say so
    assert one.p_value < 1


def test_a_handful_of_records_is_judged_by_their_places_not_by_a_standard_error():
    """Three records placed at the top have no spread, and so a standard error of zero."""
    for chance, grade in ((0.5, "guarded"), (1e-4, "open")):
        told = question(1.0, 0.6, positives=3, error=0.0, chance=chance)
        assert judged(column(0, 0.1, 0.1, told))[0].grade == grade
        assert judged(column(0, 0.1, 0.1, told), alone=True)[0].grade == grade


def test_a_rare_value_that_looks_told_by_the_release_alone_is_not_named_for_it():
    common, rare = question(0.55, 0.6, words="no"), question(0.95, 0.6, positives=4, chance=0.2, words="rare")
    assert judged(column(0, 0.1, 0.1, common, rare), alone=True)[0].alone_auc == 0.55
    sure = dataclasses.replace(rare, chance=1e-6)
    assert judged(column(0, 0.1, 0.1, common, sure), alone=True)[0].alone_auc == 0.95


def test_the_question_that_made_a_grade_worse_is_named():
    """Two thirds remain of one value, which would be partial; another value may be told with an AUC above 0.9."""
    one, other = question(0.84, 0.74, words="married"), question(0.895, 0.86, words="single", error=0.004)
    (found,) = judged(column(0, 0.1, 0.1, one, other))
    assert (found.grade, found.by) == ("weak", "married")
    assert (found.capped_by, found.capped_auc) == ("single", 0.895)
    (found,) = judged(column(0, 0.1, 0.1, one))
    assert (found.grade, found.capped_by, found.capped_auc) == ("partial", "", None)


def test_the_more_is_looked_at_the_more_is_asked_for():
    """Three standard errors are enough for one look and not for hundreds."""
    close = column(0, 0.1, 0.1, question(0.6, 0.57, error=0.01))
    attempt = pooled("boosted-trees", "adaptive", False, [[close]])
    assert judge(COLUMNS, [attempt])[0].p_value < 0.05
    others = [pooled(f"other {k}", "adaptive", False, [[column(0, 0.1, 0.1, question(0.5, 0.57))]]) for k in range(50)]
    assert judge(COLUMNS, [attempt, *others])[0].p_value > 0.05


def test_seeds_are_pooled_without_counting_records_twice():
    one, other = column(0, 0.02, 0.1, question(0.9, 0.5)), column(0, 0.04, 0.1, question(0.8, 0.6))
    found = pooled("a", "naive", False, [[one], [other]]).columns[0]
    assert (found.error, found.gain_se) == (pytest.approx(0.03), pytest.approx(0.001))
    assert (found.questions[0].auc, found.questions[0].guess_auc) == (pytest.approx(0.85), pytest.approx(0.55))
    none = dataclasses.replace(one, questions=())
    assert pooled("a", "naive", False, [[none], [other]]).columns[0].questions == other.questions


def test_estimates_that_know_nothing_are_called_a_leak_in_one_audit_of_twenty_at_most():
    """80 audits of 6 columns by 4 attacks that add noise to the guess, or guess something else: binomial(80, 0.05)
    or less; 99.99 % of the time below 14."""
    rng = np.random.default_rng(5)
    columns = tuple(SourceColumn(name=str(k), party="p", kind="number", places=(k,)) for k in range(6))
    alarms = 0
    for _ in range(80):
        truth = rng.random((120, 6)) ** np.array([1, 2, 6, 1, 1, 1])
        truth[:, 3:] = truth[:, 3:] < np.array([0.5, 0.2, 0.1])
        guess = np.tile(truth.mean(axis=0), (120, 1))
        estimates = [guess + scale * rng.normal(size=truth.shape) for scale in (0.001, 0.05, 0.5)]
        estimates.append(rng.permutation(truth))
        attempts = [
            pooled(f"attack {k}", "adaptive", k == 3, [measure(one, truth, {"g": guess}, columns, Bound()).columns])
            for k, one in enumerate(estimates)
        ]
        alarms += any(one.grade != "guarded" for one in judge(columns, attempts))
    assert alarms < binom.isf(1e-4, 80, 0.05)

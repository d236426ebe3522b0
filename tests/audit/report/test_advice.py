"""Which release a report recommends, and which it never does."""

import dataclasses

import pytest

from privee.audit.report.advice import advise, why_unfit
from privee.scores import Utility
from tests._support import made_columns
from tests._support.made_audits import make_loans

AUDIT = make_loans(seeds=(0,))
INFO = AUDIT.subjects[0]
SECRET = made_columns.loan_columns()[:1]


def card(defense: str, left: float, *, auc: float = 0.861, accuracy: float = 0.892, **changes):
    """A release of which one column is left by so much."""
    columns = (made_columns.exposure(SECRET[0], left),)
    utility = dataclasses.replace(made_columns.SCORES, auc=auc, accuracy=accuracy)
    made = dataclasses.replace(
        AUDIT.cards[0], defense=defense, columns=columns, grade=columns[0].grade, utility=utility
    )
    return dataclasses.replace(made, **changes)


def chosen(*cards, info=INFO) -> str | None:
    found = advise(info, cards).chosen
    return None if found is None else found.defense


def test_the_best_worst_column_among_those_that_leave_the_task_alive():
    found = advise(INFO, AUDIT.cards)
    assert found.chosen.defense == "rounding:digits=2"
    assert found.scores.defense == "none"
    assert found.unfit == {
        "gaussian:epsilon=0.5": "AUC 0.86 → 0.56",
        "gaussian:epsilon=1": "AUC 0.86 → 0.74",
        "ranking-only": "AUC 0.86 → 0.66",
        "label-only": "AUC 0.86 → 0.66",
    }


def test_grade_first_then_what_is_left_then_what_it_costs():
    none = card("none", 0.04)
    assert chosen(none, card("a", 0.45, auc=0.861), card("b", 0.55, auc=0.83)) == "b"
    assert chosen(none, card("a", 0.55, auc=0.861), card("b", 0.75, auc=0.83)) == "b"
    assert chosen(none, card("a", 0.75, auc=0.83), card("b", 0.75, auc=0.85)) == "b"
    assert chosen(none, card("b", 0.75, auc=0.85), card("a", 0.75, auc=0.83)) == "b"


def test_without_labels_the_nearer_release_is_cheaper():
    info = dataclasses.replace(INFO, utility=None, accuracy=None)
    far, near = (
        card(name, 0.75, utility=None, accuracy=None, label_kept=1.0, order_between=0.9, mean_l1_moved=moved)
        for name, moved in (("far", 1.0), ("near", 0.1))
    )
    assert chosen(card("none", 0.04, utility=None, accuracy=None), far, near, info=info) == "near"


def test_what_destroys_the_task_is_never_chosen_however_well_it_hides():
    none = card("none", 0.04)
    assert chosen(none, card("noise", 1.0, auc=0.80)) is None
    assert chosen(none, card("noise", 1.0, auc=0.80), card("little", 0.3)) == "little"
    assert chosen(card("noise", 1.0, auc=0.80)) is None
    assert advise(INFO, [card("noise", 1.0, auc=0.80)]).unfit == {"noise": "AUC 0.86 → 0.80"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"auc": 0.812}, ""),
        ({"auc": 0.81}, "AUC 0.86 → 0.81"),
        ({"accuracy": 0.884}, ""),
        ({"accuracy": 0.883}, "accuracy 0.88, always naming the most frequent class 0.88"),
        ({"accuracy": 0.83}, "accuracy 0.89 → 0.83"),
        ({"auc": None, "accuracy": 0.83}, "accuracy 0.89 → 0.83"),
    ],
)
def test_where_the_task_ends_with_labels(changes, reason):
    assert why_unfit(INFO, card("some", 0.7, label_kept=0.9, order_between=0.1, **changes)) == reason


def test_scores_no_better_than_the_majority_leave_nothing_to_destroy():
    info = dataclasses.replace(INFO, majority=dataclasses.replace(made_columns.MAJORITY, accuracy=0.892))
    assert why_unfit(info, card("some", 0.7)) == ""


@pytest.mark.parametrize(
    ("classes", "kept", "order", "reason"),
    [
        (2, 1.0, 0.5, ""),
        (2, 1.0, 0.49, "order between records 0.49 of 1"),
        (10, 1.0, 0.1, ""),
        (10, 0.95, None, ""),
        (10, 0.71, None, "29 % of the records change their class"),
        (2, 0.71, 0.9, "29 % of the records change their class"),
    ],
)
def test_where_the_task_ends_without_labels(classes, kept, order, reason):
    info = dataclasses.replace(INFO, utility=None, accuracy=None, classes=classes)
    some = card("some", 0.7, utility=None, accuracy=None, label_kept=kept, order_between=order)
    assert why_unfit(info, some).replace("\u00a0", " ") == reason


def test_an_earlier_versions_accuracy_counts_where_there_is_no_utility():
    info = dataclasses.replace(INFO, utility=None, accuracy=0.95, majority=None)
    old = dataclasses.replace(card("some", 0.7), utility=None, accuracy=0.66)
    assert why_unfit(info, old) == "accuracy 0.95 → 0.66"
    assert why_unfit(info, dataclasses.replace(old, utility=Utility(rows=0), accuracy=0.94)) == ""


def test_nothing_better_than_the_scores_is_said_so():
    none = card("none", 0.3)
    assert chosen(none) is None
    assert chosen(none, card("same", 0.31)) is None  # within the intervals
    assert chosen(none, card("surely more", 0.48)) == "surely more"
    assert chosen(none, card("worse", 0.05)) is None
    assert chosen(card("none", 0.01), card("still open", 0.09)) is None
    assert chosen(card("still open", 0.09)) is None
    assert chosen() is None


def test_scores_that_tell_nothing_need_no_defense():
    found = advise(INFO, [card("none", 0.95), card("more", 1.0)])
    assert found.as_they_are
    assert found.chosen is found.scores
    assert not advise(INFO, [card("none", 0.7), card("more", 1.0)]).as_they_are


def test_without_the_scores_the_best_that_is_left():
    assert chosen(card("a", 0.3), card("b", 0.6)) == "b"


def test_without_columns_the_mean_is_all_there_is():
    def mean(name: str, left: float, grade: str):
        return card(name, 0.5, columns=(), guess_normalised=left, grade=grade)

    assert chosen(mean("none", 0.0, "open"), mean("a", 0.6, "partial"), mean("b", 1.3, "guarded")) == "b"


def test_another_versions_grade_counts_as_the_worst():
    assert chosen(card("none", 0.3, grade="severe"), card("a", 0.6, grade="mild")) is None

"""Figures of single columns and of people, from estimates and the truth."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from privee.audit.exposure.findings import Bound
from privee.audit.exposure.guessed import REMEMBERED, _remembered, questions
from privee.audit.exposure.measuring import measure
from privee.data.columns import SourceColumn

RNG = np.random.default_rng(0)
ROWS = 400
NUMBER = SourceColumn(name="age", party="shop", kind="number", places=(0,))
FLAG = SourceColumn(name="owner", party="shop", kind="number", places=(1,))
CATEGORY = SourceColumn(name="job", party="bureau", kind="category", places=(2, 3, 4), values=("a", "b", "rare"))
COLUMNS = (NUMBER, FLAG, CATEGORY)


def truth() -> np.ndarray:
    job = np.eye(3)[RNG.choice(3, ROWS, p=[0.6, 0.37, 0.03])]
    return np.column_stack([RNG.random(ROWS), RNG.random(ROWS) < 0.3, job]).astype(float)


TRUTH = truth()
MEANS = np.tile(TRUTH.mean(axis=0), (ROWS, 1))


def found(estimate, guesses=None, bound=None):
    return measure(estimate, TRUTH, guesses or {"mean guess": MEANS}, COLUMNS, bound or Bound())


def test_everything_told():
    columns, people = found(TRUTH)
    assert [column.column for column in columns] == [0, 1, 2]
    for column in columns:
        assert column.error == 0
        assert column.guess_error > 0
        assert column.known == 1
        assert column.surest == 0
        assert {question.auc for question in column.questions} == {1.0}
        assert {question.guess_auc for question in column.questions} == {0.5}
        assert {question.precision for question in column.questions} == {1.0}
    assert columns[0].correlation == pytest.approx(1)
    assert columns[2].correlation is None
    assert (people.known, people.newly, people.most_exposed) == (1, pytest.approx(people.newly), 0)
    assert people.newly > 0.9
    assert people.lost == 0


def test_an_estimate_that_is_the_guess_gains_nothing():
    columns, people = found(MEANS)
    for column in columns:
        assert column.error == column.guess_error
        assert column.gain_se == 0
        assert column.surest == 1
        assert [question.auc - question.guess_auc for question in column.questions] == [0] * len(column.questions)
    assert (people.newly, people.lost, people.most_exposed) == (0, 0, 1)


def test_each_column_is_compared_with_its_own_best_guess():
    """Of two guesses, each the better one for another column, an attack must beat both."""
    one, other = MEANS.copy(), MEANS.copy()
    one[:, 0], other[:, 1] = TRUTH[:, 0], TRUTH[:, 1]
    columns, _ = found(MEANS, {"one": one, "other": other})
    assert (columns[0].guess_error, columns[1].guess_error) == (0, 0)
    assert columns[0].questions[0].guess_auc == columns[1].questions[0].guess_auc == 1.0


def test_errors_and_correlation_are_those_of_the_column():
    noisy = TRUTH + 0.2 * RNG.normal(size=TRUTH.shape)
    columns, _ = found(noisy)
    assert columns[0].error == pytest.approx(np.square(noisy - TRUTH)[:, 0].mean())
    assert columns[0].correlation == pytest.approx(spearmanr(noisy[:, 0], TRUTH[:, 0]).statistic)
    assert columns[2].error == pytest.approx(np.square(noisy - TRUTH)[:, 2:].sum(axis=1).mean())
    gain = np.square(MEANS - TRUTH)[:, 0] - np.square(noisy - TRUTH)[:, 0]
    assert columns[0].gain_se == pytest.approx(gain.std(ddof=1) / np.sqrt(ROWS))


def test_the_most_exposed_are_those_whom_the_release_moved():
    """One in twenty is told exactly, the others not at all: the mean hides what the most exposed see."""
    few = MEANS.copy()
    few[:20] = TRUTH[:20]
    columns, people = found(few)
    assert columns[0].error / columns[0].guess_error > 0.9
    assert columns[0].surest == 0
    assert (columns[0].surest_known, columns[0].known) == (1, pytest.approx(0.05 + (MEANS_KNOWN * 0.95), abs=0.03))
    assert people.most_exposed == 0


MEANS_KNOWN = float((np.abs(MEANS - TRUTH)[:, 0] <= 0.05).mean())


def test_the_bound_says_who_counts_as_known():
    near = TRUTH.copy()
    near[:, 0] += 0.08
    assert found(near)[0][0].known == 0
    assert found(near, bound=Bound(number=0.1))[0][0].known == 1
    sure = TRUTH.copy()
    sure[:, 2:] = 0.85 * TRUTH[:, 2:] + 0.05
    assert found(sure)[0][2].known == 1
    assert found(sure, bound=Bound(certainty=0.95))[0][2].known == 0


def test_what_is_asked_about_a_column():
    words = {column.name: [w for w, _, _ in questions(column, TRUTH[:, list(column.places)])] for column in COLUMNS}
    assert words["age"] == ["above the lowest tenth", "in the upper half", "in the top tenth"]
    assert words["owner"] == ["yes"]
    assert words["job"] == ["a", "b", "rare"]
    two = SourceColumn(name="t", party="p", kind="category", places=(0, 1), values=("no", "yes"))
    assert [w for w, _, _ in questions(two, np.eye(2)[np.arange(40) % 2])] == ["yes"]  # the other is its mirror image
    spike = np.where(np.arange(200) < 150, 0.0, np.linspace(0.1, 1, 200))[:, None]
    assert [w for w, _, _ in questions(NUMBER, spike)] == ["above its smallest value", "in the top tenth"]
    rare = np.zeros((200, 1))
    rare[:2] = 1
    assert list(questions(FLAG, rare)) == []  # fewer than three: nothing can be said


def test_a_column_that_is_the_same_for_all_is_left_out():
    same = TRUTH.copy()
    same[:, 0] = 0.5
    columns, _ = measure(MEANS, same, {"mean guess": MEANS}, COLUMNS, Bound())
    assert [column.column for column in columns] == [1, 2]


def test_guesses_are_measured_once_and_never_taken_for_others():
    def about(scale: float, bound: Bound | None = None):
        columns, _ = found(TRUTH * 0.5, {"mean guess": MEANS, "scaled": TRUTH * scale}, bound)
        return columns[0].guess_error, columns[0].guess_known, columns[0].questions[0].guess_auc

    alone = []
    for arguments in ((0.9,), (0.8,), (0.9, Bound(number=0.3))):
        _remembered.clear()
        alone.append(about(*arguments))
    _remembered.clear()
    for _ in range(2):
        assert [about(0.9), about(0.8), about(0.9, Bound(number=0.3))] == alone
    assert len(_remembered) == 3
    for scale in np.linspace(0.1, 0.7, REMEMBERED + 2):
        about(scale)
    assert len(_remembered) == REMEMBERED
    assert about(0.9) == alone[0]

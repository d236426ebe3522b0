"""The theorem of docs/chosen_questions.md: its bound holds in every case, so nothing here is statistical."""

import math

import numpy as np
import pytest

import privee
from privee import theory
from privee.baselines import EncryptedTopK
from privee.scores import ranking

RANGE = 8.0
KEEP_ALL = [
    "none",
    "temperature:temperature=2",
    "privee-u:rho=0.1",
    "privee-u+:rho_low=0.1,rho_high=0.9",
    "ordered-dp:epsilon=0.001",
    "ordered-dp:epsilon=16",
    "ranking-only",
    "ope",
    "fh-ope",
]
KEEP_SOME = [
    ("label-only", 1),
    ("top-k:k=3", 3),
    ("ordered-dp:epsilon=0.001,keep_top=1", 1),
    ("ordered-dp:epsilon=16,keep_top=2", 2),
]


class Record:
    """Private columns of one record of a logistic model; answers are what a defense releases."""

    def __init__(self, defense: privee.Defense, shown: int | None, seed: int, classes: int = 6) -> None:
        rng = np.random.default_rng(seed)
        self.defense, self.shown, self.asked = defense, shown, 0
        self.columns = rng.random(classes - 2)
        slopes = rng.normal(size=(classes, classes - 2))
        self.weights = slopes * (RANGE / 2 / np.abs(np.diff(slopes, axis=0)).sum(axis=1).max())
        self.differences = -np.diff(self.weights @ self.columns)
        self.draws = privee.seeded(seed, "answers")

    def answer(self, own_logits: np.ndarray) -> np.ndarray:
        self.asked += 1
        logits = self.weights @ self.columns + own_logits
        scores = np.exp(logits - logits.max())
        release = self.defense.release(scores / scores.sum(), draws=self.draws)
        return ranking(release)[: self.shown]

    def play(self, questions: int) -> tuple[np.ndarray, np.ndarray]:
        start = np.full(len(self.differences), RANGE / 2)
        return theory.bisect(self.answer, -start, start, questions, self.shown)


def check(defense: privee.Defense, shown: int | None, seed: int, questions: int) -> None:
    record = Record(defense, shown, seed)
    low, high = record.play(questions)
    assert record.asked == questions
    classes = len(low) + 1
    assert (high - low).max() == pytest.approx(theory.width_after(questions, classes, shown, RANGE))
    assert (low - 1e-12 <= record.differences).all()
    assert (record.differences <= high + 1e-12).all()
    found = np.linalg.pinv(-np.diff(record.weights, axis=0)) @ ((low + high) / 2)
    bound = theory.column_error_bound(record.weights, float((high - low).max()))
    assert np.linalg.norm(found - record.columns) <= bound + 1e-12


@pytest.mark.parametrize("spec", KEEP_ALL)
def test_the_whole_ranking_halves_every_difference_with_each_question(spec):
    for seed in range(8):
        for questions in (0, 1, 5, 20):
            check(privee.defense(spec), None, seed, questions)


@pytest.mark.parametrize(("spec", "shown"), KEEP_SOME)
def test_leading_classes_alone_take_so_many_times_as_many(spec, shown):
    for seed in range(8):
        for questions in (0, 4, 17, 60):
            check(privee.defense(spec), shown, seed, questions)


def test_what_homomorphic_encryption_shows_is_no_less():
    """Its public copy releases the same without the wait."""
    check(EncryptedTopK(2).public_copy(), 2, 0, 12)


def test_rounding_falls_like_a_label_where_a_score_is_rounded_up():
    """All classes but two pushed down: whether 0.55 is reached is the label, moved by the threshold's log-odds."""
    threshold = math.log(0.55 / 0.45)
    for seed in range(8):
        difference = Record(privee.Rounding(1), 1, seed).differences[0]
        low, high = -RANGE, RANGE
        for _ in range(20):
            middle = (low + high) / 2
            score = 1 / (1 + math.exp(middle - threshold - difference))
            above = privee.Rounding(1).release([score, 1 - score])[0] > 0.55
            low, high = (middle, high) if above else (low, middle)
        assert low - 1e-12 <= difference <= high + 1e-12
        assert high - low == 2 * RANGE * 2.0**-20


def test_numbers_of_questions():
    assert theory.questions_needed(7, 10) == 7
    assert theory.questions_needed(7, 10, shown=1) == 63
    assert theory.questions_needed(7, 10, shown=3) == 21
    assert theory.questions_needed(7, 10, shown=4) == 21
    assert theory.questions_needed(7, 2, shown=1) == theory.questions_needed(7, 2) == 7
    assert theory.questions_needed(7, 10, shown=10) == 7
    assert theory.width_after(10, 10, width=8.0) == 8 / 1024
    assert theory.width_after(17, 10, shown=1) == 0.5


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
@pytest.mark.parametrize("shown", [None, 1, 2])
def test_no_strategy_can_do_with_fewer_than_answers_can_tell_apart(classes, shown):
    least = theory.fewest_questions(20, classes, shown)
    assert least <= theory.questions_needed(20, classes, shown)
    kept = classes if shown is None else shown
    answers = math.perm(classes, kept)
    assert answers**least >= 2 ** (20 * (classes - 1)) > answers ** (least - 1)


def test_equal_parts_answer_every_question_alike_so_more_columns_than_differences_stay_open():
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(3, 5))
    assert theory.column_error_bound(weights, 1e-9) == math.inf
    hidden = np.linalg.svd(np.diff(weights, axis=0))[2][-1]
    assert np.ptp(weights @ hidden) < 1e-12
    assert theory.column_error_bound(np.ones((4, 2)), 1.0) == math.inf


def test_own_columns_that_ask_the_question_are_found_or_there_are_none():
    rng = np.random.default_rng(6)
    weights = rng.normal(size=(5, 9))
    wanted = weights @ rng.random(9) + 3.0
    found = theory.own_columns_for(weights, wanted)
    assert found is not None
    assert ((found >= -1e-9) & (found <= 1 + 1e-9)).all()
    assert np.ptp(weights @ found - wanted) < 1e-7
    assert theory.own_columns_for(weights, 100 * np.eye(5)[0]) is None
    assert theory.own_columns_for(weights[:, :2], wanted + np.arange(5)) is None


def test_the_whole_attack_with_own_columns_in_the_box():
    """Own columns that reach far enough: 20 questions of a ranking give four columns to five digits."""
    record = Record(privee.RankingOnly(), None, 7)
    reach = np.hstack([np.eye(6), -np.eye(6)]) * 6 * RANGE

    def answer(own_logits: np.ndarray) -> np.ndarray:
        own = theory.own_columns_for(reach, own_logits)
        assert own is not None
        return record.answer(reach @ own)

    start = np.full(5, RANGE / 2)
    low, high = theory.bisect(answer, -start, start, 20)
    found = np.linalg.pinv(-np.diff(record.weights, axis=0)) @ ((low + high) / 2)
    assert np.abs(found - record.columns).max() < 1e-5


@pytest.mark.parametrize(("classes", "shown"), [(1, None), (3, 0)])
def test_nonsense_is_refused(classes, shown):
    with pytest.raises(privee.SettingError, match="two classes or more"):
        theory.questions_needed(1, classes, shown)

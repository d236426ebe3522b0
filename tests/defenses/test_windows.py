"""Windows: the proof's inequality for the very words that are drawn, and the public search for the best ones."""

import math
from fractions import Fraction

import numpy as np
import pytest

from privee.defenses.window_design import best_windows, cells_of, order_kept, place_windows
from privee.defenses.windows import CELLS, STRONGEST, TOTAL, respond, window_probabilities, word_shares
from privee.randomness import Draws

EPSILONS = [1e-9, 0.001, 0.5, 1.0, 4.0, 16.0, 39.9, 5000.0]
PRIORS = [(1.0, 1.0), (0.5, 0.5), (0.3, 6.8), (35.0, 95.0), (0.13, 0.22), (0.001, 1e6)]


class TheseWords(Draws):
    """Words chosen by a test."""

    def __init__(self, words: list[int]) -> None:
        self._words = np.array(words, dtype=np.uint64)

    def words(self, count: int) -> np.ndarray:
        assert count == len(self._words)
        return self._words.copy()


def outcomes(start: int, width: int, epsilon: float, words: list[int]) -> list[int]:
    high, low = (np.array([share], dtype=np.uint64) for share in word_shares(epsilon, width))
    starts = np.full((len(words), 1), start)
    return respond(starts, np.array([width]), high, low, TheseWords(words)).ravel().tolist()


def word_counts(start: int, width: int, epsilon: float) -> list[int]:
    """How many of the 2**64 words lead to each cell: what the two ends of every run of words say, exactly."""
    high, low = word_shares(epsilon, width)
    sizes = [high] * width + [low] * (CELLS - width)
    sizes[-1] += TOTAL - sum(sizes)
    ends = np.cumsum(np.array(sizes, dtype=object))
    first, last = ([0, *map(int, ends[:-1])], [int(end) - 1 for end in ends])
    found = outcomes(start, width, epsilon, first)
    assert found == outcomes(start, width, epsilon, last)
    assert sorted(found) == list(range(CELLS))
    assert found[:width] == list(range(start, start + width))
    return [size for _, size in sorted(zip(found, sizes, strict=True))]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("width", [1, 2, 9, 49, 64])
def test_the_mechanism_is_private_exactly(epsilon, width):
    """Every outcome's probability under any two windows, as whole numbers of words: the ratio obeys the bound."""
    counts = [word_counts(start, width, epsilon) for start in {0, 1, 17, (CELLS - width) // 2, CELLS - width}]
    assert {sum(row) for row in counts} == {TOTAL}
    assert min(map(min, counts)) >= 1
    bound = Fraction(math.exp(min(epsilon, STRONGEST))) * (1 + Fraction(1, 2**50))
    for of_cell in zip(*counts, strict=True):
        assert max(of_cell) <= bound * min(of_cell)


def test_the_bound_is_nearly_reached():
    for width in (1, 9, 64):
        high, low = word_shares(2.0, width)
        assert math.log(high / low) == pytest.approx(2.0, abs=1e-12)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 4.0, 16.0])
def test_cells_and_windows_fit_the_prior(epsilon, prior):
    edges, means = cells_of(prior)
    assert (np.diff(edges) >= 0).all()
    assert means.mean() == pytest.approx(prior[0] / sum(prior), rel=1e-3)
    design = best_windows(epsilon, prior)
    assert (np.diff(design.starts) >= 0).all()
    assert design.starts.min() >= 0
    assert design.starts.max() + design.width <= CELLS
    likely = window_probabilities(design.starts, design.width, epsilon)
    in_a_window = likely.max(axis=0) > likely.min()
    assert (np.diff(design.values[in_a_window]) >= -1e-12).all()  # a higher outcome never stands for a lower score
    assert design.values @ likely.mean(axis=0) == pytest.approx(means.mean(), rel=1e-6)


def auc(likely: np.ndarray, means: np.ndarray) -> float:
    """For the label, if scores are calibrated; outcomes in the best order."""
    order = np.argsort((means @ likely) / likely.sum(axis=0), kind="stable")
    with_label, without = ((part @ likely / part.sum())[order] for part in (means, 1 - means))
    return float(with_label @ (without.cumsum() - without / 2))


def kary_response(epsilon: float, parts: int) -> np.ndarray:
    likely = np.ones((CELLS, parts))
    likely[np.arange(CELLS), np.arange(CELLS) * parts // CELLS] = math.exp(epsilon)
    return likely / likely.sum(axis=1, keepdims=True)


def discrete_laplace(epsilon: float, parts: int) -> np.ndarray:
    cells, fall = np.arange(CELLS)[:, None] * parts // CELLS, math.exp(-epsilon / (parts - 1))
    likely = (1 - fall) * fall ** np.abs(np.arange(parts) - cells)
    likely[:, 0], likely[:, -1] = fall ** cells[:, 0], fall ** (parts - 1 - cells[:, 0])
    return likely / (1 + fall)


@pytest.mark.parametrize("prior", PRIORS[:5])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0, 4.0, 8.0])
def test_no_simpler_mechanism_orders_better(epsilon, prior):
    """At its own best number of parts, each."""
    _, means = cells_of(prior)
    rivals = [make(epsilon, parts) for make in (kary_response, discrete_laplace) for parts in (2, 3, 4, 6, 8, 16, 32)]
    for likely in rivals:
        assert np.log(likely.max(axis=0) / likely.min(axis=0)).max() <= epsilon + 1e-9
    kept = order_kept(epsilon, prior)
    assert kept.auc > max(auc(likely, means) for likely in rivals) - 1e-9
    design = best_windows(epsilon, prior)
    likely = window_probabilities(design.starts, design.width, epsilon)
    assert kept.auc == pytest.approx(auc(likely, means), abs=1e-9)
    assert kept.auc_of_scores == pytest.approx(auc(np.eye(CELLS), means), abs=1e-9)


def test_windows_that_take_turns_order_better_than_where_they_began():
    _, means = cells_of((0.3, 6.8))
    began = np.rint(np.linspace(0, CELLS - 30, CELLS)).astype(int)
    before = auc(window_probabilities(began, 30, 4.0), means)
    assert auc(window_probabilities(place_windows(means, 30, 4.0)[1], 30, 4.0), means) > before + 0.005

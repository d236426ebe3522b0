"""What a release of Ordered-DP looks like, and which settings make sense."""

import numpy as np
import pytest

import privee
from privee.defenses.ordered_shape import fill_tail, fit_prior
from privee.scores import calibration_error
from tests._support.scores import softmax_rows


@pytest.mark.parametrize("spend", ["top", "all"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("classes", [2, 3, 10, 1000, 100_000])
def test_a_release_is_a_positive_probability_vector(classes, dtype, spend):
    rows = 3 if classes > 1000 else 40
    spread = np.concatenate([softmax_rows(rows, classes, s) for s in (0.0, 1.0, 30.0)]).astype(dtype)
    for epsilon in (0.01, 4.0, 1000.0):
        release = privee.OrderedDP(epsilon, spend=spend).release(spread)
        assert release.min() > 0
        # 100,000 strictly ordered values in single precision: of 40 draws the worst sum was off by 0.0022.
        single = 1e-2 if classes > 1000 else 2e-3
        np.testing.assert_allclose(
            release.sum(axis=1, dtype=np.float64), 1.0, atol=single if dtype == np.float32 else 1e-6
        )


def test_keep_top_shows_the_leading_classes_and_nothing_of_the_others():
    scores = softmax_rows(500, 12)
    release = privee.OrderedDP(8.0, keep_top=3).release(scores, draws=privee.seeded(1))
    order = np.argsort(-scores, axis=1, kind="stable")
    assert (np.argsort(-release, axis=1, kind="stable")[:, :3] == order[:, :3]).all()
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).all()
    rest = np.take_along_axis(release, order[:, 3:], axis=1)
    assert (rest == rest[:, :1]).all()
    shuffled = scores.copy()
    np.put_along_axis(shuffled, order[:, 3:], np.take_along_axis(scores, order[:, :2:-1], axis=1), axis=1)
    again = privee.OrderedDP(8.0, keep_top=3).release(shuffled, draws=privee.seeded(1))
    assert (release == again).all()
    assert not privee.OrderedDP(8.0, keep_top=3).preserves_order
    assert privee.OrderedDP(8.0).preserves_order
    full = privee.OrderedDP(8.0, keep_top=12).release(scores, draws=privee.seeded(1))
    assert (full == privee.OrderedDP(8.0).release(scores, draws=privee.seeded(1))).all()


def test_more_epsilon_moves_less_and_all_of_it_comes_through_in_the_end():
    scores = softmax_rows(2000, 10)
    moved = {
        spend: [
            np.abs(privee.OrderedDP(e, spend=spend).release(scores, draws=privee.seeded(2)) - scores).sum(axis=1).mean()
            for e in (0.5, 4, 32, 1e5)
        ]
        for spend in ("top", "all")
    }
    for falling in moved.values():
        assert falling == sorted(falling, reverse=True)
    assert moved["all"][-1] < 0.01  # but for the grid
    assert moved["top"][1] < 0.8 * moved["all"][1]


def test_a_prior_keeps_the_top_score_calibrated():
    """A calibrated model: right as often as its top score says. Released without a prior it is not, with one it is."""
    rng = np.random.default_rng(4)
    top = 0.1 + 0.9 * rng.beta(4.0, 1.0, 40_000)
    scores = np.column_stack([top, fill_tail(np.clip(top, 0.102, 1 - 1e-6)[:, None], 10, 0.4)])
    scores /= scores.sum(axis=1, keepdims=True)
    labels = (rng.random(len(top)) >= scores[:, 0]).astype(int)  # class 0 is the top one
    prior = fit_prior(scores[:5000])
    plain, fitted = (privee.OrderedDP(4.0, prior=p).release(scores, draws=privee.seeded(6)) for p in (None, prior))
    before, noisy, after = (calibration_error(c, labels) for c in (scores, plain, fitted))
    assert before < 0.012
    assert noisy > 0.05
    assert after < 0.02
    assert np.abs(fitted - scores)[:, 0].mean() < np.abs(plain - scores)[:, 0].mean()


def test_fitting_uses_nothing_but_the_scores_it_is_given():
    scores = softmax_rows(400, 10, 4.0)
    defense = privee.OrderedDP.fitted(4.0, scores)
    assert defense == privee.defense(**defense.settings())
    assert privee.defense(defense.spec) == defense
    others = softmax_rows(400, 10, 4.0, seed=9)
    moved = [
        np.abs(d.release(others, draws=privee.seeded(1)) - others).sum(axis=1).mean()
        for d in (defense, privee.OrderedDP(4.0, tail=5.0))
    ]
    assert moved[0] < moved[1]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": 1e-6}, "ranking-only is the limit"),
        ({"epsilon": 1, "spend": "some"}, "'top' or 'all'"),
        ({"epsilon": 1, "keep_top": 0}, "keep_top must be a whole number from 1"),
        ({"epsilon": 1, "tail": -1}, "tail must be a number"),
        ({"epsilon": 1, "prior": (1.0,)}, "two parameters"),
        ({"epsilon": 1, "prior": (1.0, 0.0)}, "above 0"),
        ({"epsilon": 1, "prior": (1.0, 1.0), "spend": "all"}, "for spend='top'"),
    ],
)
def test_bad_settings(settings, says):
    with pytest.raises(privee.SettingError, match=says.replace("(", r"\(")):
        privee.OrderedDP(**settings)


def test_the_guarantee_says_what_it_covers_and_what_not():
    full, top = privee.OrderedDP(32.0).guarantee(10), privee.OrderedDP(2.0, keep_top=2).guarantee(10)
    assert (full.epsilon, full.delta, full.same) == (32.0, 0.0, "any two score vectors with the same ranking")
    assert full.not_covered[0] == "the ranking itself"
    assert "promises little" in full.not_covered[-1]
    assert top.same == "any two score vectors with the same top-2 ranking"
    assert "promises little" not in " ".join(top.not_covered)

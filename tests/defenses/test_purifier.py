"""Purifier: gradients by hand against differences, what training gives, the label, and the file of weights."""

import numpy as np
import pytest

import privee
from privee.defenses import score_autoencoder
from privee.defenses.score_autoencoder import CODE, ScoreAutoencoder, _gradients, default_autoencoder, one_hot, shapes
from privee.defenses.small_nets import softmax, started, synthetic_scores
from tests._support.scores import softmax_rows


def loss(net: ScoreAutoencoder, scores: np.ndarray, normal: np.ndarray) -> float:
    """What training lowers, written out once more."""
    labels = one_hot(scores.argmax(axis=1), scores.shape[1])
    hidden = np.tanh(np.concatenate([scores, labels], axis=1) @ net.a + net.a0)
    mean, log_variance = hidden @ net.b + net.b0, hidden @ net.c + net.c0
    code = mean + np.exp(log_variance / 2) * normal
    made = softmax(np.tanh(np.concatenate([code, labels], axis=1) @ net.d + net.d0) @ net.e + net.e0)
    wanted = scores + score_autoencoder.LABEL_SHARE * labels
    divergence = (np.exp(log_variance) + mean**2 - 1 - log_variance).sum(axis=1) / 2
    each = -(wanted * np.log(made)).sum(axis=1) + score_autoencoder.DIVERGENCE_SHARE * divergence
    return float(each.mean())


def test_gradients_are_those_of_the_loss():
    rng = np.random.default_rng(0)
    weights = [one + 0.1 * rng.normal(size=one.shape) for one in started(shapes(4), 3)]
    scores, normal = softmax_rows(12, 4), rng.normal(size=(12, CODE))
    for k, gradient in enumerate(_gradients(ScoreAutoencoder(*weights), scores, normal)):
        for _ in range(4):
            at = tuple(rng.integers(size) for size in weights[k].shape)
            sides = []
            for step in (1e-6, -1e-6):
                changed = [one.copy() for one in weights]
                changed[k][at] += step
                sides.append(loss(ScoreAutoencoder(*changed), scores, normal))
            assert gradient[at] == pytest.approx((sides[0] - sides[1]) / 2e-6, abs=1e-6)


def test_training_helps_and_repeats():
    scores, normal = softmax_rows(200, 5), np.random.default_rng(0).normal(size=(200, CODE))
    first = ScoreAutoencoder(*started(shapes(5), 1))
    assert loss(default_autoencoder(5), scores, normal) < 0.6 * loss(first, scores, normal)
    default_autoencoder.cache_clear()
    once = default_autoencoder(5)
    default_autoencoder.cache_clear()
    assert all((a == b).all() for a, b in zip(once, default_autoencoder(5), strict=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_label_stays_bit_for_bit(dtype):
    scores = np.concatenate([softmax_rows(500, 4, 0.05), np.eye(4), np.full((9, 4), 0.25)]).astype(dtype)
    release = privee.Purifier().release(scores)
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert np.allclose(release.sum(axis=1), 1, atol=1e-5)


def test_unlike_records_come_out_more_alike():
    """Very confident and flat scores are both drawn towards what the network saw: their top scores come nearer."""
    sure, flat = (synthetic_scores(300, 10, spread, privee.seeded(1)) for spread in (9.0, 0.3))
    tops = [np.median(privee.Purifier().release(one, draws=privee.seeded(2)).max(axis=1)) for one in (sure, flat)]
    assert 0 < tops[0] - tops[1] < 0.8 * np.median(sure.max(axis=1)) - 0.8 * np.median(flat.max(axis=1))


def test_it_can_be_fitted_and_kept_in_a_file(tmp_path):
    file = tmp_path / "weights.json"
    fitted = privee.Purifier.fitted(softmax_rows(100, 3, 5.0), file)
    again = privee.defense(f"purifier:weights_file={file}")
    assert fitted == again
    scores = softmax_rows(40, 3)
    a, b = (one.release(scores, draws=privee.seeded(1)) for one in (fitted, again))
    assert (a == b).all()
    assert (a != privee.Purifier().release(scores, draws=privee.seeded(1))).any()
    assert "Purifier.fitted" in fitted.learned_by
    with pytest.raises(privee.SettingError, match="for 3 classes, and there are 4"):
        fitted.release(softmax_rows(2, 4))


@pytest.mark.parametrize("text", ["{}", "[]", '{"format": "x", "classes": 2, "weights": []}', '{"classes": "a"}'])
def test_files_that_hold_no_weights_are_refused(tmp_path, text):
    (tmp_path / "w.json").write_text(text)
    with pytest.raises(privee.SettingError, match="holds no weights of a purifier"):
        privee.Purifier(str(tmp_path / "w.json"))


def test_missing_files_and_few_scores_are_refused(tmp_path):
    with pytest.raises(privee.PriveeError, match="is missing"):
        privee.Purifier(str(tmp_path / "none.json"))
    with pytest.raises(privee.SettingError, match="50 score vectors or more"):
        privee.Purifier.fitted(softmax_rows(10, 3), tmp_path / "w.json")
    with pytest.raises(privee.SettingError, match="name of a file"):
        privee.Purifier("")

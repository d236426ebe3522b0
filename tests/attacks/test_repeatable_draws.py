"""Repeatable draws under attack: repeating a query teaches nothing; what they do not stop is shown as well."""

import numpy as np
import pytest
import torch

import privee
from privee.attacks import AttackerView, WhiteBox
from privee.attacks.log_scores import centred
from privee.attacks.metrics import feature_mse
from privee.attacks.repeated_query import join_releases
from privee.defenses.repeatable import Repeatable
from tests._support.scores import softmax_rows

KEY, U = bytes(range(32)), privee.PriveeU(rho=0.1)


def repeatable(defense=U, key=KEY) -> Repeatable:
    return Repeatable(defense, key=key, model_version="v1")


class Case:
    """A logistic joint model of 10 classes: 6 columns of the active party's, 4 unknown ones. Seeds 3 and 4."""

    def __init__(self, rows: int = 15) -> None:
        rng = np.random.default_rng(3)
        self.weights = torch.from_numpy(rng.normal(size=(10, 10)))
        self.own, self.truth = (torch.from_numpy(rng.random((rows, n))) for n in (6, 4))
        sizes = {"own_columns": 6, "unknown_columns": 4, "n_classes": 10}
        self.model = WhiteBox(lambda a, b: torch.cat([a, b], 1) @ self.weights.T, weights=self.weights, **sizes)
        self.entities = range(rows)
        self.scores = self.scores_of(self.own)

    def scores_of(self, own: torch.Tensor) -> np.ndarray:
        return self.model.scores(own, self.truth).numpy()

    def own_part(self, own: torch.Tensor) -> torch.Tensor:
        return own @ self.weights[:, :6].T

    def moved_columns(self, count: int, size: float) -> list[torch.Tensor]:
        """The active party's columns as they are, and `count` variants of them."""
        rng = np.random.default_rng(4)
        return [self.own] + [self.own + torch.from_numpy(size * rng.normal(size=self.own.shape)) for _ in range(count)]

    def solve(self, owns: list[torch.Tensor], releases: list[np.ndarray]) -> float:
        """Equation solving over all variants: each gives log-ratios of the same unknown part, which are averaged."""
        read = (torch.from_numpy(U.estimate_scores(release)).log() for release in releases)
        logs = [scores - self.own_part(own) for own, scores in zip(owns, read, strict=True)]
        unknown = centred(torch.stack(logs).mean(dim=0)) @ torch.linalg.pinv(centred(self.weights[:, 6:].T))
        return feature_mse(unknown, self.truth)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


@pytest.fixture(scope="module")
def thousand(case) -> dict[str, np.ndarray]:
    """1,000 releases of every record: repeatable ones, and with fresh draws (seeded)."""
    held = repeatable()
    columns = case.own.numpy()
    return {
        "same": np.stack([held.release(case.scores, entities=case.entities, queries=columns) for _ in range(1000)]),
        "fresh": np.stack([U.release(case.scores, draws=privee.seeded(0, i)) for i in range(1000)]),
    }


@pytest.mark.parametrize(("estimator", "falls"), [("minimum", 100), ("mean", 5), ("likelihood", 100)])
def test_repeating_a_query_teaches_nothing(case, thousand, estimator, falls):
    """Mean absolute error of the scores after 1, 10 and 1,000 queries; fresh draws for comparison."""

    def errors(kind: str) -> list[float]:
        views = [
            AttackerView(case.own, case.model, torch.from_numpy(thousand[kind][:count]), U, adaptive=True)
            for count in (1, 10, 1000)
        ]
        return [float(np.abs(join_releases(view, estimator).numpy() - case.scores).mean()) for view in views]

    one, ten, many = errors("same")
    # A mean of equal numbers can differ from them in the last bits; the others are exact.
    exact = 1e-12 if estimator == "mean" else 0
    assert one > 1e-4
    assert ten == pytest.approx(one, rel=exact, abs=0)
    assert many == pytest.approx(one, rel=exact, abs=0)
    one, ten, many = errors("fresh")
    assert ten < one / 2
    assert many < one / falls


def test_what_it_does_not_stop_is_varying_the_own_columns(case):
    """50 variants of the active party's columns are 50 queries about the same unknown ones, with 50 draws.

    Averages over 3 keys. The variants' error is 0.02 to 0.05 of one release's; a tenth is asked for. Asking
    50 times with the same columns gives what asking once gives.
    """
    found = {"one": 0.0, "same": 0.0, "varied": 0.0}
    for seed in range(3):
        held = repeatable(key=bytes([seed]) * 32)
        owns = case.moved_columns(49, size=0.3)
        varied = [held.release(case.scores_of(a), entities=case.entities, queries=a.numpy()) for a in owns]
        same = [held.release(case.scores, entities=case.entities, queries=case.own.numpy()) for _ in owns]
        found["one"] += case.solve(owns[:1], varied[:1])
        found["same"] += case.solve([case.own] * 50, same)
        found["varied"] += case.solve(owns, varied)
    assert found["same"] == pytest.approx(found["one"], rel=1e-9)
    assert found["varied"] < found["one"] / 10


def scores_from_ratios(case: Case, owns: list[torch.Tensor], releases: list[np.ndarray]) -> np.ndarray:
    """What common draws give away. If draws are shared, (p + 2/K) / (p' + 2/K) = c / c', free of noise.

    With e = exp(change of the own part), known to the attacker, c'_j = c_j e_j / (c . e): so every variant gives the
    number c . e, one linear equation for the scores.
    """
    change = np.stack([np.exp((case.own_part(own) - case.own_part(case.own)).numpy()) for own in owns])
    kept = np.stack(releases) + 2 / 10
    known = np.median(change * kept[0] / kept, axis=2)
    found = [np.linalg.lstsq(change[:, i], known[:, i], rcond=None)[0] for i in case.entities]
    return np.stack(found)


def test_draws_keyed_on_labels_alone_would_give_the_scores_away(case):
    """The active party changes its columns a little and the label does not say so (or the data, or the model, changed).

    Keyed on the label alone, 30 releases give every score to 1e-9, far worse than fresh draws. With the scores in the
    message the same releases give this attack nothing: it does worse than one release read with the public inverse.
    """
    owns = case.moved_columns(29, size=0.03)
    changed = [case.scores_of(own) for own in owns]
    labels_alone = [
        np.stack([U.release(c, draws=privee.keyed(KEY, b"%d" % i)) for i, c in enumerate(s)]) for s in changed
    ]
    ours = [repeatable().release(s, entities=case.entities, queries=["risk"] * len(s)) for s in changed]
    assert np.abs(scores_from_ratios(case, owns, labels_alone) - case.scores).max() < 1e-9
    one_release = np.abs(U.estimate_scores(ours[0]) - case.scores).max()
    assert np.abs(scores_from_ratios(case, owns, ours) - case.scores).max() > one_release > 1e-3


def test_a_changed_record_under_the_same_label_does_not_show_by_how_much():
    """Additive noise cancels out in a difference if draws are shared; here the noise of both releases stays in."""
    noise, before = privee.GaussianNoise(0.5), softmax_rows(200, 10)
    after = softmax_rows(200, 10, spread=2.9)
    first, second = (repeatable(noise).release(c, entities=range(200)) for c in (before, after))
    spread = (second - first - (after - before)).std()
    assert spread == pytest.approx(np.sqrt(2) * noise.scale, rel=0.2)  # 2,000 differences: 12 standard errors
    shared = [noise.release(c, draws=privee.keyed(KEY, b"label")) for c in (before, after)]
    assert np.abs(shared[1] - shared[0] - (after - before)).max() < 1e-12


def test_known_limit_other_last_bits_are_another_release(case):
    """What keying on exact scores costs: scores that differ in their last bits get draws of their own.

    Three variants (as many as batch sizes gave on a CPU, see docs/repeatable.md) teach as much as three releases.
    """
    variants = [case.scores, np.nextafter(case.scores, 1), np.nextafter(case.scores, 0)]
    asked = [variants[i % 3] for i in range(60)]
    releases = np.stack([repeatable().release(s, entities=case.entities) for s in asked])
    assert len({release.tobytes() for release in releases}) == 3
    views = [AttackerView(case.own, case.model, torch.from_numpy(releases[:n]), U, adaptive=True) for n in (1, 3, 60)]
    one, three, sixty = (np.abs(join_releases(view, "likelihood").numpy() - case.scores).mean() for view in views)
    assert one / 10 < three < one
    assert sixty == three

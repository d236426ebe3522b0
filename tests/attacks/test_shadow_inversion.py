"""Models that can be called but not differentiated are attacked as well as can be, not by learned inversion alone."""

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.ensemble import RandomForestClassifier

import privee
from privee.attacks import LearnedInversion, ShadowInversion, attack
from privee.attacks.candidates import asked_candidates
from privee.attacks.metrics import feature_mse, regression_guess
from privee.attacks.shadow_inversion import fitted
from privee.attacks.watch import Watch
from privee.audit import audit, subject_from_arrays, subject_from_run
from privee.audit.task import simulated
from privee.defenses import defense
from privee.vfl.seal import Seal
from tests._support.sealed_runs import sealed_run

U = "privee-u:rho=0.1"
QUICK = {"calls": 6000, "epochs": 4, "iterations": 120}


class Forest:
    """A forest that was trained on six columns of one party and three of another; it counts what it is asked."""

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self.own, self.private = rng.random((900, 6)), rng.random((900, 3))
        self.private[:, 0] = (self.private[:, 0] + self.own[:, 0]) / 2
        classes = (6 * (0.3 * self.own[:, 1] + 0.4 * self.private[:, 0] + 0.3 * self.private[:, 1])).astype(int)
        self._trees = RandomForestClassifier(40, min_samples_leaf=5, random_state=0, n_jobs=1)
        self._trees.fit(np.hstack([self.own, self.private]), classes)
        self.asked = 0

    def __call__(self, active: np.ndarray, passive: np.ndarray) -> np.ndarray:
        self.asked += len(active)
        return self._trees.predict_proba(np.hstack([active, passive]))


@pytest.fixture(scope="module")
def forest() -> Forest:
    return Forest()


@pytest.fixture(scope="module")
def sample(forest):
    return subject_from_arrays(forest, forest.own, forest.private).sample(0, 150, 500)


def viewed(sample, spec="none", *, adaptive=True):
    made = defense(spec)
    return sample.view(simulated(sample, made, 0, 1), made, adaptive=adaptive)


def share_left(sample, chosen, spec="none", **more) -> float:
    view = viewed(sample, spec, **more)
    assert chosen.why_not(view) is None
    found = chosen.run(view).unknown
    assert ((found >= 0) & (found <= 1)).all()
    return feature_mse(found, sample.truth) / feature_mse(regression_guess(view), sample.truth)


def test_a_forest_is_inverted_further_than_by_learning_alone(sample):
    """By both forms, by candidates most; and the form that does better on other rows is the one that is taken."""
    shadow, candidates, best = (
        share_left(sample, ShadowInversion(form=form, **QUICK)) for form in ("shadow", "candidates", "best")
    )
    learned = share_left(sample, LearnedInversion())
    assert shadow < learned < 0.9
    assert candidates < 0.9 * learned
    assert best == candidates


def test_knowing_the_defense_is_what_helps(sample):
    """A naive attacker matches what PRIVEE-U made of the scores, and through a shadow does worse than guessing."""
    naive, adaptive = (share_left(sample, ShadowInversion(**QUICK), U, adaptive=knows) for knows in (False, True))
    assert adaptive < 0.8
    assert adaptive < 0.8 * naive
    assert share_left(sample, ShadowInversion(form="shadow", **QUICK), U, adaptive=False) > 1.2


@pytest.mark.parametrize("spec", ["ranking-only", "label-only", "gaussian:epsilon=0.5"])
def test_where_a_release_says_little_it_is_not_worse_than_its_guess(sample, spec):
    assert share_left(sample, ShadowInversion(**QUICK), spec) < 1.05


def test_one_row_shows_nothing_and_a_few_show_no_trust(forest):
    """Two rows are enough to make others up from; those that a shadow is fitted to alone must be forty."""
    subject = subject_from_arrays(forest, forest.own, forest.private)
    few = {rows: viewed(subject.sample(0, 80, rows)) for rows in (2, 39, 40)}
    one = dataclasses.replace(few[2], auxiliary=few[2].auxiliary.part(slice(1)))
    assert ShadowInversion().why_not(one) == "needs 2 auxiliary rows or more"
    assert ShadowInversion().why_not(few[2]) is None
    assert torch.isfinite(ShadowInversion(**QUICK).run(few[2]).unknown).all()
    alone = ShadowInversion(calls=0)
    assert alone.why_not(few[39]) == "needs 40 auxiliary rows or more where calls=0"
    assert alone.why_not(few[40]) is None


def test_of_few_rows_alone_no_more_is_made_than_they_show(forest):
    subject = subject_from_arrays(forest, forest.own, forest.private)
    left = [share_left(subject.sample(seed, 80, 40), ShadowInversion(calls=0, iterations=100)) for seed in range(6)]
    assert np.mean(left) < 1.02


def test_the_model_is_asked_no_more_than_is_allowed(forest, sample):
    """Beside the calls: auxiliary rows and the final residual, once or twice each; without calls nothing made up."""
    view = viewed(sample)
    for calls in (3000, 0):
        forest.asked = 0
        ShadowInversion(calls=calls, epochs=1, iterations=2).run(view, seed=calls)
        assert calls * 0.9 < forest.asked <= calls + 5 * len(sample.auxiliary) + view.rows
    assert share_left(sample, ShadowInversion(calls=0, epochs=60)) < 1.05


def test_a_known_row_is_never_its_own_candidate(sample):
    """What is tried on auxiliary rows must not hold their answers."""
    torch.manual_seed(0)
    made = asked_candidates(viewed(sample), sample.auxiliary, 190 * 300)
    rehearsed = made.unknown[150:]
    assert len(rehearsed) == len(made.truth)
    assert (rehearsed - made.truth[:, None]).abs().amax(dim=2).min() > 1e-9
    assert torch.equal(
        made.scores[3], sample.model.scores(made.own[3].expand(len(made.unknown[3]), -1), made.unknown[3])
    )


def test_a_shadow_says_what_the_model_says(sample):
    torch.manual_seed(0)
    made = asked_candidates(viewed(sample), sample.auxiliary, 9000)
    shadow = fitted(sample.model, made.rows(), made.scores.flatten(0, 1), 8, Watch())
    rows = sample.auxiliary
    there, here = rows.scores(sample.model), torch.softmax(shadow.logits(rows.own, rows.unknown), dim=1)
    assert (there - here).abs().mean() < 0.4 * (there - there.mean(dim=0)).abs().mean()
    unknown = rows.unknown.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(shadow.logits(rows.own, unknown)[:, 0].sum(), unknown)
    assert gradient.abs().sum() > 0


def test_where_there_is_a_better_way_it_is_left_out(case, tmp_path):
    view = case.view("none", adaptive=True)
    assert ShadowInversion().why_not(view) == "the model has gradients itself"
    assert ShadowInversion(anyway=True).why_not(view) is None
    sealed = subject_from_run(sealed_run(tmp_path / "run", Seal(codes=4), epochs=1)).sample(0, 20, 30)
    assert ShadowInversion().why_not(viewed(sealed)).startswith("no gradient passes a sealed code")


def test_an_audit_of_a_forest_runs_it_by_default(forest):
    found = audit(
        forest,
        forest.own,
        forest.private,
        defenses=["none"],
        seeds=1,
        records=60,
        auxiliary_rows=200,
        questions=(),
        jobs=1,
    )
    (mine,) = [one for one in found.findings if one.attack == "shadow-inversion" and one.attacker == "adaptive"]
    assert mine.status == "ok"
    others = {one.attack: one.status for one in found.findings}
    assert others["prior-informed"] == "skipped"


def test_an_interrupted_one_goes_on_to_the_same_result(sample, tmp_path, monkeypatch):
    """Interrupted while the shadow is fitted, while it is tried out, and at the end; nothing is kept in memory."""
    chosen, view = ShadowInversion(form="shadow", calls=1500, epochs=2, iterations=6), viewed(sample)

    def run(folder=None, stop=0):
        monkeypatch.setattr("privee.attacks.shadow_inversion._last_asked", {})
        seen = []

        def on_step(done, total):
            seen.append((done, total))
            if len(seen) == stop:
                raise KeyboardInterrupt

        return chosen.run(view, seed=3, watch=Watch(on_step, folder, every=0)).unknown, seen

    whole, unbroken = run()
    assert unbroken == [(k + 1, len(unbroken)) for k in range(len(unbroken))]
    for stop in (5, len(unbroken) - 8, len(unbroken) - 1):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / str(stop), stop)
        found, rest = run(tmp_path / str(stop))
        assert torch.equal(found, whole)
        assert rest == unbroken[stop:]
        assert torch.equal(chosen.run(view, seed=3).unknown, whole)  # with what is kept in memory as well


def test_settings_are_checked():
    for wrong, says in (
        ({"form": "luck"}, "form must be one of best, shadow, candidates; got 'luck'"),
        ({"calls": -1}, "calls must be a whole number from 0"),
        ({"form": "candidates", "calls": 0}, "form=candidates needs calls of 1 or more"),
        ({"epochs": 0}, "epochs must be a whole number from 1"),
        ({"learning_rate": 0}, "learning_rate must be a number above 0"),
    ):
        with pytest.raises(privee.SettingError, match=says):
            attack("shadow-inversion", **wrong)

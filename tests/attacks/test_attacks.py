"""Attacks see what the threat model grants and nothing else, and their numbers mean something."""

import numpy as np
import pytest
import torch

import privee
from privee.attacks import (
    AttackerView,
    EquationSolving,
    GradientInversion,
    GrnaGenerator,
    GrnaPaper,
    LearnedInversion,
    PriorInformed,
    RepeatedQuery,
    WhiteBox,
    known_attacks,
    paper_attack,
)
from privee.attacks import attack as make_attack
from privee.attacks.metrics import (
    attainable_protection,
    column_mse,
    feature_mse,
    guess_normalised,
    mean_guess,
    regression_guess,
    uniform_guess,
)
from privee.attacks.repeated_query import join_releases

U = "privee-u:rho=0.1"


def test_equation_solving_is_exact_without_a_defense(case):
    assert case.error(EquationSolving(), "none", adaptive=False) < 1e-6


def test_gradient_inversion_in_log_scores_is_far_stronger(case):
    strong, weak = (GradientInversion(loss=loss, iterations=300) for loss in ("log-score", "probability"))
    best, paper = (case.error(attack, "none", adaptive=False) for attack in (strong, weak))
    assert best < 0.005
    assert paper > 5 * best


def test_learned_inversion_finds_everything_without_a_defense(case):
    assert case.error(LearnedInversion(), "none", adaptive=False) < 1e-4


@pytest.mark.parametrize("attack", [EquationSolving(), GradientInversion(iterations=200), PriorInformed()])
def test_knowing_privee_u_undoes_it(case, attack):
    """Averages over three draws: naive attackers do worse than the mean guess, adaptive ones ten times better."""
    guess = feature_mse(mean_guess(case.view(U, adaptive=False)), case.truth)
    naive, adaptive = (np.mean([case.error(attack, U, adaptive=a, seed=s) for s in range(3)]) for a in (False, True))
    assert naive > guess
    assert adaptive < guess / 10


def test_the_best_attack_on_privee_u_leaves_almost_nothing(case):
    assert case.error(PriorInformed(), U, adaptive=True) < 0.002
    assert case.error(LearnedInversion(), U, adaptive=True) < 0.002


def test_ranking_alone_gives_something_away_and_much_less(case):
    """Given the ranking explicitly, the learned attack gains on the best guess without a release."""
    view = case.view("ranking-only", adaptive=True)
    guess = feature_mse(regression_guess(view), case.truth)
    error = case.error(LearnedInversion(), "ranking-only", adaptive=True)
    assert case.error(LearnedInversion(), U, adaptive=True) < error / 5
    assert error < 0.95 * guess


def test_the_prior_informed_attack_is_never_worse_than_its_guess(case):
    for spec in ("none", U, "rounding:digits=1", "gaussian:epsilon=0.5", "label-only", "ranking-only"):
        view = case.view(spec, adaptive=True)
        guess = feature_mse(regression_guess(view), case.truth)
        assert case.error(PriorInformed(), spec, adaptive=True) < 1.03 * guess, spec


def test_a_weak_enough_perturbation_is_no_defense(case):
    for attack in (EquationSolving(), LearnedInversion()):
        weak = case.error(attack, "privee-u:rho=1e6", adaptive=True)
        assert weak < case.error(attack, "none", adaptive=True) + 1e-5


def test_more_queries_help(case):
    one, many = (case.error(PriorInformed(), U, adaptive=True, queries=n) for n in (1, 50))
    assert many < one


@pytest.mark.parametrize("estimator", ["minimum", "mean", "likelihood"])
def test_repeated_queries_wear_privee_u_down(case, estimator):
    attack = RepeatedQuery(inner=EquationSolving(), estimator=estimator)
    few, many = (case.error(attack, U, adaptive=True, queries=n) for n in (2, 200))
    assert many < few / 3


def test_the_likelihood_estimator_beats_the_papers_minimum(case):
    """Mean absolute error of the scores themselves, after 10 and 100 queries; more than twice as good."""
    for queries in (10, 100):
        view = case.view(U, adaptive=True, queries=queries)
        minimum, likelihood = (
            np.abs(join_releases(view, name).numpy() - case.scores).mean() for name in ("minimum", "likelihood")
        )
        assert likelihood < minimum / 2


def test_repeated_queries_say_when_they_make_no_sense(case):
    attack = RepeatedQuery(inner=EquationSolving())
    assert attack.why_not(case.view(U, adaptive=True)) == "needs 2 queries per record"
    assert "adaptive attacker of privee-u" in attack.why_not(case.view("ranking-only", adaptive=True, queries=2))
    assert (
        RepeatedQuery(inner=EquationSolving(), estimator="mean").why_not(case.view(U, adaptive=False, queries=2))
        is None
    )


def test_grna_in_the_papers_form_fits_scores_not_columns(case):
    """Its loss falls, and its columns are no better than a guess: the two are different things."""
    view = case.view("none", adaptive=False)
    first, last = (GrnaPaper(epochs=n, learning_rate=0.1).run(view) for n in (1, 60))
    assert last.residual < first.residual / 3
    guess = feature_mse(mean_guess(view), case.truth)
    assert feature_mse(last.unknown, case.truth) > guess
    stepped = GrnaPaper(epochs=10, learning_rate=0.1, step_per_batch=True).run(view)
    assert stepped.residual < first.residual


def test_grna_with_a_generator_beats_guessing_uniformly(case):
    attack = GrnaGenerator(epochs=15, learning_rate=1e-3, hidden=(60, 30))
    view = case.view("none", adaptive=False)
    found = attack.run(view)
    assert ((found.unknown >= 0) & (found.unknown <= 1)).all()
    assert feature_mse(found.unknown, case.truth) < 0.5 * feature_mse(uniform_guess(view), case.truth)
    blind = AttackerView(view.own, view.model, view.releases, view.defense, adaptive=False)
    assert feature_mse(found.unknown, case.truth) < feature_mse(attack.run(blind).unknown, case.truth)


def test_the_residual_is_the_papers_figure(case):
    """Undefended it vanishes with the error; under PRIVEE-U it is large whatever the attacker knows."""
    assert EquationSolving().run(case.view("none", adaptive=False)).residual < 1e-9
    adaptive = PriorInformed().run(case.view(U, adaptive=True))
    assert adaptive.residual > 0.5
    assert feature_mse(adaptive.unknown, case.truth) < 0.002


def test_seeds_repeat(case):
    view, attack = case.view("ranking-only", adaptive=True), GrnaGenerator(epochs=1)
    assert torch.equal(attack.run(view, seed=3).unknown, attack.run(view, seed=3).unknown)
    assert not torch.equal(attack.run(view, seed=3).unknown, attack.run(view, seed=4).unknown)


def test_metrics():
    truth, estimate = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, 1.0]])
    assert feature_mse(estimate, truth) == 0.125
    assert column_mse(estimate, truth).tolist() == [0.25, 0.0]
    assert guess_normalised(0.02, 0.04) == 0.5
    assert attainable_protection(0.02, 0.0, 0.04) == 0.5
    assert attainable_protection(0.04, 0.0, 0.04) == 1


def test_attacks_by_name_and_the_papers_presets():
    assert set(known_attacks()) >= {
        "equation-solving",
        "gradient-inversion",
        "grna-paper",
        "grna-generator",
        "learned-inversion",
        "prior-informed",
        "repeated-query",
    }
    assert make_attack("prior-informed:iterations=10") == PriorInformed(iterations=10)
    assert make_attack("repeated-query:inner=equation-solving,estimator=mean").inner == EquationSolving()
    assert paper_attack("gradient-inversion", "mnist") == GradientInversion(loss="probability")
    assert paper_attack("grna-paper", "cifar10") == GrnaPaper(epochs=10, step_per_batch=True)
    with pytest.raises(privee.SettingError, match="no attack is called 'nope'"):
        make_attack("nope")
    with pytest.raises(privee.SettingError, match="no settings for grna-paper on digits"):
        paper_attack("grna-paper", "digits")


def test_attacks_that_make_no_sense_say_why(case):
    view = case.view("none", adaptive=False)
    sizes = {"own_columns": 56, "unknown_columns": 8, "n_classes": 10}
    stepped = WhiteBox(lambda own, unknown: (own[:, :10] + unknown[:, :1]).round().detach(), **sizes)
    bare = AttackerView(view.own, stepped, view.releases, view.defense, adaptive=False)
    assert EquationSolving().why_not(bare) == "needs a logistic model"
    assert LearnedInversion().why_not(bare) == "needs auxiliary rows"
    assert GradientInversion().why_not(bare) == "the model is not differentiable"
    assert GradientInversion().why_not(view) is None
    broken = WhiteBox(lambda own, unknown: own[:, :10] / 0, **sizes)
    with pytest.raises(privee.PriveeError, match="not finite"):
        broken.logits(view.own, torch.zeros(898, 8))
    short = WhiteBox(lambda own, unknown: own[:, :9], **sizes)
    with pytest.raises(privee.PriveeError, match="expected 10 classes"):
        short.logits(view.own, torch.zeros(898, 8))

"""Attacks see what the threat model grants and nothing else, and their numbers mean something."""

import gc
import types

import numpy as np
import pytest
import torch

import privee
from privee.attacks import (
    AttackerView,
    Auxiliary,
    EquationSolving,
    GradientInversion,
    GrnaGenerator,
    GrnaPaper,
    LearnedInversion,
    PriorInformed,
    RepeatedQuery,
    WhiteBox,
    from_federation,
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
from privee.data.datasets import load_dataset
from privee.data.partition import split_columns
from privee.vfl import JointModel, TrainingSettings, make_models, train
from privee.vfl.joint_data import from_dataset


class Case:
    """A logistic model on digits, 8 of 64 columns unknown; releases of its test records on demand."""

    def __init__(self) -> None:
        partition = split_columns(64, adversary_fraction=56 / 64, how="random", seed=1)
        data = from_dataset(load_dataset("digits"), partition)
        joint = JointModel(data.columns, data.labels, *make_models("logistic", data.shapes, 10, 0))
        settings = TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2)
        train(joint.coordinator, joint.learners, torch.from_numpy(data.train), settings)
        self.model = from_federation(joint)
        own, unknown = (torch.from_numpy(x).double() for x in data.columns.values())
        self.own, self.truth = own[data.test[:300]], unknown[data.test[:300]]
        self.auxiliary = Auxiliary(own[data.train[:500]], unknown[data.train[:500]])
        self.scores = self.model.scores(self.own, self.truth).numpy()

    def view(self, spec: str, *, adaptive: bool, seed: int = 0, queries: int = 1) -> AttackerView:
        defense = privee.defense(spec)
        releases = [defense.release(self.scores, draws=privee.seeded(seed, query)) for query in range(queries)]
        stacked = torch.from_numpy(np.stack(releases))
        return AttackerView(self.own, self.model, stacked, defense, adaptive, self.auxiliary)

    def error(self, attack, spec: str, **more) -> float:
        return feature_mse(attack.run(self.view(spec, **more)).unknown, self.truth)


@pytest.fixture(scope="module")
def case() -> Case:
    return Case()


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


# --- what can be reached from a view ---------------------------------------------------------------------------------

SKIPPED = (types.ModuleType, type, types.FunctionType, types.BuiltinFunctionType)


def reachable_numbers(root: object) -> np.ndarray:
    """Every number in every array that can be reached from an object by following references."""
    seen, queue, found = {id(root)}, [root], [np.empty(0)]
    while queue:
        thing = queue.pop()
        if isinstance(thing, torch.Tensor):
            storage = torch.empty(0, dtype=thing.dtype).set_(thing.untyped_storage())  # the whole of it, not the slice
            found.append(storage.detach().double().numpy().ravel())
            found += [] if thing.grad is None else [thing.grad.double().numpy().ravel()]
        elif isinstance(thing, np.ndarray):
            base = thing if thing.base is None or not isinstance(thing.base, np.ndarray) else thing.base
            found.append(np.asarray(base, dtype=np.float64).ravel())
        for reference in gc.get_referents(thing):
            if id(reference) not in seen and not isinstance(reference, SKIPPED):
                seen.add(id(reference))
                queue.append(reference)
    return np.concatenate(found)


@pytest.mark.parametrize(("kind", "shapes"), [("mlp", [(6,), (4,)]), ("resnet", [(3, 8, 4), (3, 8, 4)])])
def test_the_white_box_is_the_trained_model(kind, shapes):
    """Single precision inside a convolutional model, doubles at its ends, and gradients through it."""
    columns = {
        f"p{k}": np.random.default_rng(k).random((5, *shape), dtype=np.float32) for k, shape in enumerate(shapes)
    }
    named = dict(zip(columns, shapes, strict=True))
    joint = JointModel(columns, np.zeros(5, dtype=int), *make_models(kind, named, 3, 0))
    model = from_federation(joint)
    own, unknown = (torch.from_numpy(part.reshape(5, -1)).double() for part in columns.values())
    logits = model.logits(own, unknown.requires_grad_())
    assert logits.dtype == torch.float64
    assert torch.allclose(logits.float(), joint.coordinator.logits(torch.arange(5)), atol=1e-5)
    (gradient,) = torch.autograd.grad(logits.square().sum(), unknown)
    assert gradient.dtype == torch.float64
    assert (gradient.abs().sum(dim=1) > 0).all()


def marked_view(leak: str | None = None) -> tuple[AttackerView, np.ndarray]:
    """A view whose true unknown columns are random doubles, which do not turn up elsewhere by chance."""
    rng = np.random.default_rng(5)
    columns = {"active": rng.random((40, 3)), "shop": rng.random((40, 2)), "clinic": rng.random((40, 2))}
    shapes = {name: x.shape[1:] for name, x in columns.items()}
    joint = JointModel(columns, rng.integers(0, 4, 40), *make_models("logistic", shapes, 4, 0))
    for learner in joint.learners.values():
        learner.model.double()
    train(joint.coordinator, joint.learners, torch.arange(40), TrainingSettings(epochs=2, batch_size=20))
    model = from_federation(joint)
    own, truth = torch.from_numpy(columns["active"]), np.concatenate([columns["shop"], columns["clinic"]], axis=1)
    defense = privee.PriveeU(rho=0.1)
    releases = torch.from_numpy(defense.release(model.scores(own, torch.from_numpy(truth)).numpy()))[None]
    if leak == "party":
        model._logits._bottoms.append(joint.parties[1])
    if leak == "slice":
        own = torch.from_numpy(np.concatenate([columns["active"], truth], axis=1))[:, :3]
    return AttackerView(own, model, releases, defense, adaptive=True), truth


def test_the_true_columns_cannot_be_reached_from_a_view():
    view, truth = marked_view()
    numbers = reachable_numbers(view)
    assert np.isin(view.own.numpy(), numbers).all()  # the walk does find what is there
    assert not np.isin(truth, numbers).any()


@pytest.mark.parametrize("leak", ["party", "slice"])
def test_the_walk_would_notice_a_leak(leak):
    view, truth = marked_view(leak)
    assert np.isin(truth, reachable_numbers(view)).any()


# --- guesses, metrics, bad input -------------------------------------------------------------------------------------


def test_guesses_need_no_release(case):
    view = case.view("none", adaptive=False)
    errors = [feature_mse(guess(view), case.truth) for guess in (uniform_guess, mean_guess, regression_guess)]
    assert errors == sorted(errors, reverse=True)
    assert errors[1] == pytest.approx(float(case.truth.var(dim=0).mean()), rel=0.1)
    alone = AttackerView(view.own, view.model, view.releases, view.defense, adaptive=False)
    assert (mean_guess(alone) == 0.5).all()
    with pytest.raises(privee.PriveeError, match="auxiliary rows"):
        regression_guess(alone)


def test_metrics():
    truth, estimate = torch.tensor([[0.0, 1.0]]), torch.tensor([[0.5, 1.0]])
    assert feature_mse(estimate, truth) == 0.125
    assert column_mse(estimate, truth).tolist() == [0.25, 0.0]
    assert guess_normalised(0.02, 0.04) == 0.5
    assert attainable_protection(0.02, 0.0, 0.04) == 0.5
    assert attainable_protection(0.04, 0.0, 0.04) == 1


def test_attacks_by_name_and_the_papers_presets():
    assert set(known_attacks()) == {
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


def test_bad_views_are_named(case):
    view = case.view("none", adaptive=False)
    for releases, message in (
        (view.releases[:, :5], "releases of 5 rows for 300 records"),
        (view.releases[:, :, :7], "have 7 classes, the model 10"),
        (view.releases[0], r"must be \(queries, rows, classes\)"),
    ):
        with pytest.raises(privee.PriveeError, match=message):
            AttackerView(view.own, view.model, releases, view.defense, adaptive=False)


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


def test_a_view_holds_a_public_copy_of_the_defense():
    defense = privee.OrderPreservingEncryption(seed=1)
    columns = torch.rand(4, 3, dtype=torch.float64)
    model = WhiteBox(
        lambda own, unknown: own @ torch.ones(3, 2).double(), own_columns=3, unknown_columns=1, n_classes=2
    )
    releases = torch.from_numpy(defense.release(np.full((4, 2), 0.5)))[None]
    view = AttackerView(columns, model, releases, defense, adaptive=True)
    assert view.defense is not defense
    assert view.defense.seed is None
    simulated = view.simulate(torch.tensor([[0.3, 0.7]], dtype=torch.float64), 0).release
    assert not np.array_equal(simulated.numpy(), defense.release(np.array([[0.3, 0.7]])))

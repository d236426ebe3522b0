"""What can be reached from a view: what the threat model grants, and nothing else."""

import numpy as np
import pytest
import torch

import privee
from privee.attacks import AttackerView, WhiteBox, white_box_of
from privee.attacks.metrics import feature_mse, mean_guess, regression_guess, uniform_guess
from privee.vfl import JointModel, TrainingSettings, make_models, train
from tests._support.reachable import reachable_numbers

# --- what can be reached from a view ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "shapes"), [("mlp", [(6,), (4,)]), ("resnet", [(3, 8, 4), (3, 8, 4)])])
def test_the_white_box_is_the_trained_model(kind, shapes):
    """Single precision inside a convolutional model, doubles at its ends, and gradients through it."""
    columns = {
        f"p{k}": np.random.default_rng(k).random((5, *shape), dtype=np.float32) for k, shape in enumerate(shapes)
    }
    named = dict(zip(columns, shapes, strict=True))
    joint = JointModel(columns, np.zeros(5, dtype=int), *make_models(kind, named, 3, 0))
    model = white_box_of(joint)
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
    model = white_box_of(joint)
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


@pytest.mark.parametrize(("spec", "adaptive", "different"), [
    ("none", True, 1), ("rounding:digits=1", True, 1), ("ordered-dp:epsilon=4", True, 3),
    ("ordered-dp:epsilon=4", False, 1),
])  # fmt: skip
def test_only_what_is_drawn_is_simulated_more_than_once(case, spec, adaptive, different):
    view = case.view(spec, adaptive=adaptive)
    with torch.no_grad():
        scores = view.auxiliary.scores(view.model)
        made = view.simulations(view.auxiliary, scores, 3)
    assert len(made) == different
    for k, one in enumerate(made):
        assert torch.equal(one.release, view.simulate(scores, k).release)


def test_bad_views_are_named(case):
    view = case.view("none", adaptive=False)
    for releases, message in (
        (view.releases[:, :5], "releases of 5 rows for 300 records"),
        (view.releases[:, :, :7], "have 7 classes, the model 10"),
        (view.releases[0], r"must be \(queries, rows, classes\)"),
    ):
        with pytest.raises(privee.PriveeError, match=message):
            AttackerView(view.own, view.model, releases, view.defense, adaptive=False)


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


def test_a_descent_works_its_own_part_out_once_and_sees_when_columns_change():
    """Logits and gradients are those of a model that remembers nothing, also after own columns were written to."""
    rng = np.random.default_rng(3)
    columns = {"active": rng.random((6, 3), dtype=np.float32), "shop": rng.random((6, 2), dtype=np.float32)}
    shapes = {name: x.shape[1:] for name, x in columns.items()}
    model = white_box_of(JointModel(columns, np.zeros(6, dtype=int), *make_models("mlp", shapes, 3, 0)))
    calls = []
    model._logits._short._bottoms[0].register_forward_hook(lambda *_: calls.append(1))
    own = torch.from_numpy(columns["active"]).double().clone()
    unknown = torch.from_numpy(columns["shop"]).double().requires_grad_()
    for part in (slice(None), slice(None), slice(0, 3), slice(3, 6)):
        found = model.logits(own[part], unknown[part])
        with torch.no_grad():
            assert torch.equal(found, model.logits(own[part], unknown[part]))
    assert len(calls) == 3 + 4  # the second descent's call was spared, those without gradients never are
    own += 0.25
    with torch.no_grad():
        plain = model.logits(own[3:], unknown[3:])
    assert torch.equal(model.logits(own[3:], unknown[3:]), plain)

"""Joint training: only embeddings and gradients cross, and the result is that of one plain model."""

import numpy as np
import pytest
import torch
from torch import nn

import privee
from privee.vfl import ActiveParty, ConcatTop, JointModel, LocalChannel, PassiveParty, TrainingSettings, make_models
from privee.vfl.messages import Embedding, LogitGradient, Logits, Report, ReportRequest, Work
from privee.vfl.models import ARCHITECTURES
from privee.vfl.seeds import batches, build
from privee.vfl.training import InMemory, train

CLASSES = 4


def parts(parties: int, rows: int = 60, width: int = 3, seed: int = 0) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Random float64 columns of several parties, and labels that depend on all of them."""
    rng = np.random.default_rng(seed)
    columns = {f"party-{k}": rng.random((rows, width)) for k in range(parties)}
    total = np.concatenate(list(columns.values()), axis=1) @ rng.normal(size=(parties * width, CLASSES))
    return columns, total.argmax(axis=1)


def joint_model(kind: str, parties: int, seed: int = 0, **more) -> JointModel:
    columns, labels = parts(parties)
    bottoms, top = make_models(kind, {name: x.shape[1:] for name, x in columns.items()}, CLASSES, seed)
    return JointModel(columns, labels, {k: m.double() for k, m in bottoms.items()}, top.double(), **more)


def run(joint: JointModel, **settings) -> dict[str, torch.Tensor]:
    train(joint.coordinator, joint.learners, torch.arange(joint.rows), TrainingSettings(**settings))
    return weights(joint)


def weights(joint: JointModel) -> dict[str, torch.Tensor]:
    return {f"{r}.{k}": t.clone() for r, learner in joint.learners.items() for k, t in learner.weights().items()}


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor], tolerance: float = 0.0) -> bool:
    assert a.keys() == b.keys()
    return all((a[name].double() - b[name].double()).abs().max() <= tolerance for name in a)


# --- what crosses ----------------------------------------------------------------------------------------------------

FLOATS = {Work: ["gradient"], Embedding: ["values"], Logits: ["values"], LogitGradient: ["values"]}


class Recorder:
    """Keeps every number of every message, by kind, and refuses messages of other kinds."""

    def __init__(self) -> None:
        self.floats: list[np.ndarray] = []
        self.rows: list[torch.Tensor] = []
        self.kinds: set[type] = set()

    def __call__(self, sender: str, receiver: str, message) -> None:
        self.kinds.add(type(message))
        for name in FLOATS.get(type(message), []):
            if (tensor := getattr(message, name)) is not None:
                assert tensor.is_floating_point()
                self.floats.append(tensor.detach().numpy().copy().ravel())
        if (rows := getattr(message, "rows", None)) is not None and not isinstance(message, Report):
            self.rows.append(rows)


def assert_nothing_private_crossed(joint: JointModel, seen: Recorder, secrets: list[np.ndarray]) -> None:
    """Private numbers are recognised by their exact values: random doubles do not meet by chance."""
    assert seen.kinds <= {Work, Embedding, Logits, LogitGradient, ReportRequest, Report}
    crossed, private = (np.unique(np.concatenate(found)) for found in (seen.floats, secrets))
    assert len(crossed) > 1000
    assert set(np.intersect1d(crossed, private)) <= {0.0, 1.0}
    allowed = torch.arange(joint.rows)
    assert all(torch.isin(rows, allowed).all() for rows in seen.rows)


def secrets_of(joint: JointModel) -> list[np.ndarray]:
    """Every feature and every parameter of every role, as it is now."""
    tensors = [party._features for party in joint.parties] + list(weights(joint).values())
    return [tensor.numpy().ravel() for tensor in tensors]


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("parties", [2, 4])
def test_no_feature_label_or_parameter_crosses(kind, parties):
    seen = Recorder()
    joint = joint_model(kind, parties, tap=seen)
    secrets = secrets_of(joint)
    for learner in joint.learners.values():
        learner.start(1e-2)
    for epoch in range(3):
        for _ in joint.coordinator.train_epoch(batches(torch.arange(60), 16, 0, epoch)):
            secrets += secrets_of(joint)  # parameters change with every step
    joint.coordinator.evaluate(torch.arange(60))
    joint.scores()
    assert_nothing_private_crossed(joint, seen, secrets)


def test_the_recorder_would_notice_a_leak():
    """A party that sends its columns, or its parameters, in place of an embedding is caught."""

    class Careless(nn.Module):
        def __init__(self, what: str) -> None:
            super().__init__()
            self.inner, self.what = nn.Linear(3, 64).double(), what

        def forward(self, x):
            out = self.inner(x)
            leak = x if self.what == "features" else self.inner.bias[:3].expand(len(x), 3)
            return torch.cat([leak, out[:, 3:]], dim=1)

    for what in ("features", "parameters"):
        seen = Recorder()
        columns, labels = parts(2)
        bottoms, top = make_models("mlp", dict.fromkeys(columns, (3,)), CLASSES, 0)
        mixed = {"party-0": bottoms["party-0"].double(), "party-1": Careless(what)}
        joint = JointModel(columns, labels, mixed, top.double(), tap=seen)
        secrets = secrets_of(joint)
        for _ in range(20):
            joint.scores()
        with pytest.raises(AssertionError):
            assert_nothing_private_crossed(joint, seen, secrets)


def test_labels_cross_only_as_gradients_at_the_logits():
    """Integers that cross are row numbers; with labels far outside their range, none of them appears."""
    seen = Recorder()
    columns, _ = parts(2, rows=30)
    labels = np.full(30, 99)
    bottoms, top = make_models("logistic", dict.fromkeys(columns, (3,)), 100, 0)
    joint = JointModel(columns, labels, {k: m.double() for k, m in bottoms.items()}, top, tap=seen)
    run(joint, epochs=2, batch_size=10)
    assert 99 not in {int(v) for rows in seen.rows for v in rows}


# --- the same as one model -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["logistic", "mlp"])
@pytest.mark.parametrize("parties", [2, 3, 5])
def test_joint_training_is_plain_training(kind, parties):
    """One module with one Adam, trained the usual way on the same batches, ends with the same weights."""
    joint, plain = joint_model(kind, parties), joint_model(kind, parties)
    bottoms = [p.learner.model.train() for p in plain.parties]
    top = plain.coordinator.learner.model.train()
    whole = nn.ModuleList([*bottoms, top])
    optimizer = torch.optim.Adam(whole.parameters(), lr=1e-2)
    features, labels = [p._features for p in plain.parties], plain.parties[0]._labels
    for epoch in range(4):
        for rows in batches(torch.arange(60), 16, 0, epoch):
            optimizer.zero_grad()
            logits = top([bottom(x[rows]) for bottom, x in zip(bottoms, features, strict=True)])
            nn.functional.cross_entropy(logits, labels[rows]).backward()
            optimizer.step()
    assert same(run(joint, epochs=4, batch_size=16, learning_rate=1e-2), weights(plain), tolerance=1e-9)


def test_scores_are_softmax_of_the_joint_logits_and_take_a_defense():
    joint = joint_model("mlp", 3)
    scores = joint.scores()
    assert scores.shape == (60, CLASSES)
    assert scores.sum(axis=1) == pytest.approx(1, abs=1e-5)
    logits = joint.coordinator.logits(torch.arange(60))
    assert np.allclose(scores, torch.softmax(logits, 1).numpy())
    assert privee.theory.order_is_kept(scores, privee.PriveeU(rho=0.1).release(scores))


def test_training_learns():
    joint = joint_model("mlp", 2)
    before = joint.coordinator.evaluate(torch.arange(60)).accuracy
    run(joint, epochs=80, batch_size=16, learning_rate=1e-2)
    assert joint.coordinator.evaluate(torch.arange(60)).accuracy > max(0.9, before)


def test_own_modules_work_through_the_same_interface():
    columns, labels = parts(2)
    bottoms = {name: nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Dropout(0.1)) for name in columns}
    single = {name: x.astype(np.float32) for name, x in columns.items()}
    joint = JointModel(single, labels, bottoms, ConcatTop(nn.Linear(10, CLASSES)))
    before = weights(joint)
    run(joint, epochs=2, batch_size=16)
    assert not same(before, weights(joint))


def test_twenty_five_parties():
    joint = joint_model("mlp", 25)
    run(joint, epochs=1, batch_size=30)
    assert joint.scores().shape == (60, CLASSES)


def test_architectures_have_the_papers_shapes():
    def sizes(model):
        return [tuple(p.shape) for p in model.parameters() if p.ndim > 1]

    bottom, top, *_ = ARCHITECTURES["mlp"]
    assert sizes(bottom((392,), 10)) == [(128, 392), (64, 128)]
    assert sizes(top(2, 10)) == [(10, 128)]
    assert sizes(top(5, 10)) == [(256, 320), (10, 256)]
    bottom, top, *_ = ARCHITECTURES["logistic"]
    assert [tuple(p.shape) for p in bottom((7,), 10).parameters()] == [(10, 7)]
    assert list(top(2, 10).parameters()) == []
    resnet = ARCHITECTURES["resnet"][0]((3, 32, 16), 10)
    convolutions = [m for m in resnet.modules() if isinstance(m, nn.Conv2d) and m.kernel_size == (3, 3)]
    assert [c.out_channels for c in convolutions] == [16] * 7 + [32] * 6 + [64] * 6
    assert resnet(torch.rand(2, 3, 32, 16)).shape == (2, 64)
    with pytest.raises(privee.SettingError, match="pictures"):
        ARCHITECTURES["resnet"][0]((10,), 10)


# --- seeds, stopping, bad input --------------------------------------------------------------------------------------


def test_seeds_decide_everything():
    settings = {"epochs": 2, "batch_size": 16}
    first = run(joint_model("mlp", 2, seed=3), seed=3, **settings)
    assert same(first, run(joint_model("mlp", 2, seed=3), seed=3, **settings))
    assert not same(first, run(joint_model("mlp", 2, seed=4), seed=4, **settings))


def test_a_roles_weights_depend_on_seed_and_role_alone():
    """So that each party can make its own, on its own machine; and no two parties start alike."""
    bottoms, _ = make_models("mlp", {"a": (5,), "b": (5,)}, CLASSES, 7)
    assert not torch.equal(bottoms["a"][1].weight, bottoms["b"][1].weight)
    alone = build(7, "b", lambda: ARCHITECTURES["mlp"][0]((5,), CLASSES))
    for p, q in zip(bottoms["b"].parameters(), alone.parameters(), strict=True):
        assert (p == q).all()


def test_early_stopping_returns_to_the_best_epoch():
    class Watch(InMemory):
        def __init__(self) -> None:
            super().__init__()
            self.losses: list[float] = []

        def log(self, record) -> None:
            self.losses.append(record["validation_loss"])

    joint, watch = joint_model("mlp", 2), Watch()
    settings = TrainingSettings(epochs=300, batch_size=8, learning_rate=0.05, patience=3, validation_share=0.3)
    progress = train(joint.coordinator, joint.learners, torch.arange(60), settings, keeper=watch)
    assert progress.stopped
    assert progress.epoch == progress.best_epoch + 3 < 300
    assert progress.best_epoch == int(np.argmin(watch.losses)) + 1
    from privee.vfl.training import split_validation

    _, held = split_validation(torch.arange(60), settings)
    assert joint.coordinator.evaluate(held).loss == pytest.approx(min(watch.losses), rel=1e-6)


def test_bad_input_is_named():
    columns, labels = parts(2)
    bottoms, top = make_models("logistic", dict.fromkeys(columns, (3,)), CLASSES, 0)
    with pytest.raises(privee.PriveeError, match="party-1 has 59 rows where there are 60"):
        JointModel(columns | {"party-1": columns["party-1"][:59]}, labels, bottoms, top)
    spoiled = columns["party-1"].copy()
    spoiled[3, 1] = np.nan
    with pytest.raises(privee.PriveeError, match="party-1 has columns with values that are not finite"):
        JointModel(columns | {"party-1": spoiled}, labels, bottoms, top)
    with pytest.raises(privee.PriveeError, match="at least two parties"):
        JointModel({"party-0": columns["party-0"]}, labels, bottoms, top)
    with pytest.raises(privee.PriveeError, match="same name"):
        LocalChannel([PassiveParty("a", torch.zeros(1, 1), nn.Identity()) for _ in range(2)])
    with pytest.raises(privee.SettingError, match="no model is called 'tree'"):
        make_models("tree", {"a": (1,)}, 2, 0)
    for bad in ({"epochs": 0}, {"batch_size": 1.5}, {"learning_rate": 0}, {"patience": 0}, {"validation_share": 1}):
        with pytest.raises(privee.SettingError, match=next(iter(bad))):
            TrainingSettings(**bad)


def test_roles_refuse_messages_that_are_not_theirs():
    passive = PassiveParty("shop", torch.zeros(4, 2), nn.Linear(2, 2))
    with pytest.raises(privee.PriveeError, match="does not answer Logits"):
        passive.handle(Logits(torch.zeros(1, 2), torch.zeros(1, dtype=torch.int64), train=True))
    with pytest.raises(privee.PriveeError, match="no batch to learn from"):
        passive.handle(Work(torch.zeros(1, 2), None, train=True))
    with pytest.raises(privee.PriveeError, match="but 3 labels"):
        ActiveParty("bank", torch.zeros(4, 2), nn.Linear(2, 2), torch.zeros(3, dtype=torch.int64))


def test_batches_cover_every_row_once_and_change_with_the_epoch():
    rows = torch.arange(50)
    first, second = (batches(rows, 8, 0, epoch) for epoch in (0, 1))
    assert [len(part) for part in first] == [8] * 6 + [2]
    assert torch.equal(torch.cat(first).sort().values, rows)
    assert not torch.equal(torch.cat(first), torch.cat(second))
    assert torch.equal(torch.cat(first), torch.cat(batches(rows, 8, 0, 0)))
    assert not torch.equal(torch.cat(first), torch.cat(batches(rows, 8, 1, 0)))

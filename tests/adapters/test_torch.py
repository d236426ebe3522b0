"""PyTorch: releases of the same shape, dtype and device, in either mode, and no training through them."""

import copy
import io
import pickle

import numpy as np
import pytest

import privee
from privee.errors import ScoreError, SettingError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: privee[torch]")
nn = torch.nn

from privee.adapters.torch import ReleasedScores, protect_outputs  # noqa: E402 (after the skip)

SPEC = "ordered-dp:epsilon=4"
NOISY = "privee-u:rho=0.1"  # never the same release twice


def linear(dtype=torch.float32) -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(6, 4).to(dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(6,), (5, 6), (2, 3, 6), (0, 6)])
@pytest.mark.parametrize("outputs", ["scores", "logits"])
def test_shape_and_dtype_are_kept_and_the_release_is_the_defenses_own(dtype, shape, outputs):
    first = nn.Sequential(linear(dtype), *([nn.Softmax(dim=-1)] if outputs == "scores" else [])).eval()
    x = torch.randn(shape, dtype=dtype)
    with torch.no_grad():
        scores = torch.softmax(first[0](x), dim=-1)
    model = nn.Sequential(first, ReleasedScores(SPEC, outputs=outputs, draws=privee.seeded(5)))
    release = model.eval()(x)
    assert (release.shape, release.dtype, release.device) == (scores.shape, dtype, scores.device)
    expected = privee.defense(SPEC).release(scores.reshape(-1, 4).numpy(), draws=privee.seeded(5))
    assert np.array_equal(release.reshape(-1, 4).numpy(), expected)
    assert not release.requires_grad


def test_fresh_draws_in_each_call_and_the_same_state_dict():
    model = linear()
    protected = nn.Sequential(model, ReleasedScores("privee-u:rho=0.1", outputs="logits")).eval()
    x = torch.randn(50, 6)
    assert not np.isclose(protected(x), protected(x)).all(axis=1).any()
    assert not np.isclose(copy.deepcopy(protected)(x), protected(x)).all(axis=1).any()
    assert set(protected.state_dict()) == {"0.weight", "0.bias"}
    assert "privee-u:rho=0.1" in repr(protected)


def test_a_forgotten_eval_hands_out_no_scores():
    model = nn.Sequential(linear(), ReleasedScores("ranking-only", outputs="logits", draws=privee.seeded(1)))
    x = torch.randn(5, 6)
    with torch.inference_mode():
        release = model.train()(x)
    scores = torch.softmax(model[0](x), dim=1)
    assert not torch.isclose(release, scores).all(dim=1).any()


def test_training_through_a_release_is_refused():
    model = nn.Sequential(linear(), ReleasedScores(SPEC, outputs="logits")).train()
    with pytest.raises(SettingError, match="no gradient passes a release: train the model without it"):
        model(torch.randn(5, 6))
    assert model.eval()(torch.randn(5, 6)).requires_grad is False


def test_a_hook_protects_a_model_that_cannot_be_changed():
    model, x = linear(), torch.randn(5, 6)
    with torch.no_grad():
        bare = model(x)
        handle = protect_outputs(model.eval(), SPEC, outputs="logits", draws=privee.seeded(5))
        release = model(x)
        expected = privee.defense(SPEC).release(torch.softmax(bare, dim=1), draws=privee.seeded(5))
        assert torch.equal(release, expected)
        handle.remove()
        assert torch.equal(model(x), bare)


def test_a_hook_refuses_to_train_and_what_is_not_one_tensor():
    model = linear().train()
    handle = protect_outputs(model, SPEC, outputs="logits")
    with pytest.raises(SettingError, match="no gradient passes"):
        model(torch.randn(5, 6))
    handle.remove()

    class Two(nn.Module):
        def forward(self, x):
            return {"logits": x, "hidden": x}

    both = Two().eval()
    protect_outputs(both, SPEC, outputs="logits")
    with pytest.raises(SettingError, match="one tensor of shape"):
        both(torch.randn(5, 6))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: ReleasedScores(SPEC, outputs="votes"), SettingError, "outputs must be 'scores' or 'logits'"),
        (lambda: ReleasedScores(None, outputs="logits"), SettingError, "defense must be"),
        (lambda: protect_outputs(len, SPEC, outputs="logits"), SettingError, "takes a torch.nn.Module"),
        (lambda: ReleasedScores(SPEC, outputs="scores")(torch.randn(5, 6)), ScoreError, "row 0"),
        (
            lambda: ReleasedScores(SPEC, outputs="logits")(torch.randn(5, 6).bfloat16()),
            ScoreError,
            "cast to float32 first",
        ),
    ],
)
def test_what_cannot_be_protected_is_named_in_one_line(make, error, says):
    with pytest.raises(error) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_compiled_model_releases_too():
    model = nn.Sequential(linear(), ReleasedScores(SPEC, outputs="logits", draws=privee.seeded(2))).eval()
    x = torch.randn(5, 6)
    with torch.no_grad():
        compiled = torch.compile(model, backend="eager")(x)
        expected = privee.defense(SPEC).release(torch.softmax(model[0](x), dim=1), draws=privee.seeded(2))
    assert torch.equal(compiled, expected)


class Net(nn.Module):
    """Not one of PyTorch's own modules, which symbolic tracing leaves whole."""

    def __init__(self):
        super().__init__()
        self.last = linear()

    def forward(self, x):
        return self.last(torch.relu(x))


def served(kind):
    """A protected model and the bare one's logits of `example()`."""
    bare = Net().eval()
    with torch.no_grad():
        raw = bare(example())
    if kind == "module":
        return nn.Sequential(bare, ReleasedScores(NOISY, outputs="logits")).eval(), raw
    model = nn.Sequential(bare).eval() if kind == "hook on Sequential" else bare
    protect_outputs(model, NOISY, outputs="logits")
    return nn.Sequential(model).eval() if kind == "hook within" else model, raw


def example():
    return torch.linspace(-2, 2, 30).reshape(5, 6)


def made_fx(model):
    from torch.fx.experimental.proxy_tensor import make_fx

    return make_fx(model)(example())


def saved_and_loaded(model):
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


RECORDERS = {
    "script": torch.jit.script,
    "trace": lambda model: torch.jit.trace(model, example(), check_trace=False),
    "export": lambda model: torch.export.export(model, (example(),), strict=False),
    "fx": torch.fx.symbolic_trace,
    "make_fx": made_fx,
    "onnx": lambda model: torch.onnx.export(model, (example(),), io.BytesIO(), dynamo=False),
}
COPIERS = {
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),  # noqa: S301
    "save": saved_and_loaded,
    "replica": lambda model: model._replicate_for_data_parallel(),
    "DataParallel": nn.DataParallel,
    "average": lambda model: torch.optim.swa_utils.AveragedModel(model).eval(),
    "functional": lambda model: lambda x: torch.func.functional_call(model, dict(model.named_parameters()), (x,)),
    "compile": lambda model: torch.compile(model, backend="eager"),
}
KINDS = ("module", "hook", "hook on Sequential", "hook within")


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, about tracing
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", RECORDERS)
def test_a_release_is_in_no_graph_that_is_saved(way, kind):
    """Recorded, the release of the example would be handed out for every record; or, without its hook, bare scores."""
    model, _ = served(kind)
    with pytest.raises(SettingError, match="script, trace or export the model without it"):
        RECORDERS[way](model)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("record", ["strict export", "whole graph"])
def test_where_pytorch_refuses_first_it_gives_our_reason(record, kind):
    model, _ = served(kind)
    ways = {
        "strict export": lambda: torch.export.export(model, (example(),), strict=True),
        "whole graph": lambda: torch.compile(model, backend="eager", fullgraph=True)(example()),
    }
    with pytest.raises(Exception, match="script, trace or export the model without it"):
        ways[record]()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", COPIERS)
def test_a_copy_releases_too(way, kind):
    model, raw = served(kind)
    copied = COPIERS[way](model)
    with torch.no_grad():
        one, other = copied(example()), copied(example())
    for known in (raw, torch.softmax(raw, dim=1), other):
        assert not torch.isclose(one, known).all(dim=1).any()


@pytest.mark.parametrize("kind", KINDS)
def test_no_release_of_stand_ins(kind):
    model, _ = served(kind)
    with pytest.raises(SettingError, match="made of plain tensors: call the model without torch"):
        torch.func.vmap(model)(example())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["script", "trace", "export", "fx"])
def test_what_would_lose_a_hook_gets_none_and_can_be_protected_otherwise(way):
    """Copied, frozen or saved, such a model would give bare scores."""
    made = RECORDERS[way](Net().eval())
    loaded = made.module() if way == "export" else made
    with pytest.raises(SettingError, match=r"a hook is lost where .* nn.Sequential\(model, ReleasedScores"):
        protect_outputs(loaded, SPEC, outputs="logits")
    model = nn.Sequential(loaded, ReleasedScores(NOISY, outputs="logits"))
    with torch.no_grad():
        scores = torch.softmax(loaded(example()), dim=1)
        release = copy.deepcopy(model)(example())
    assert not torch.isclose(release, scores).all(dim=1).any()


@pytest.mark.filterwarnings("ignore")
def test_a_hook_that_is_removed_leaves_nothing_behind():
    model = Net().eval()
    before = dict(model.__dict__)
    first = protect_outputs(model, SPEC, outputs="logits")
    second = protect_outputs(model, SPEC, outputs="scores")
    assert repr(model).startswith("Net(")
    second.remove()
    with pytest.raises(SettingError, match="script, trace or export the model without it"):
        torch.fx.symbolic_trace(model)
    first.remove()
    assert model.__dict__.keys() == before.keys()
    with torch.no_grad():
        assert torch.equal(torch.fx.symbolic_trace(model)(example()), model(example()))
        assert torch.equal(torch.jit.script(model)(example()), model(example()))

"""PyTorch: releases of the same shape, dtype and device, in either mode, and no training through them."""

import copy

import numpy as np
import pytest

import privee
from privee.errors import ScoreError, SettingError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: privee[torch]")
nn = torch.nn

from privee.adapters.torch import ReleasedScores, protect_outputs  # noqa: E402 (after the skip)

SPEC = "ordered-dp:epsilon=4"


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


@pytest.mark.filterwarnings("ignore")  # PyTorch's own, about tracing
@pytest.mark.parametrize("way", ["trace", "hook", "export", "script"])
def test_a_release_is_in_no_graph_that_is_saved(way):
    """Recorded, the release of the example would be handed out for every record."""
    model, x = linear().eval(), torch.randn(5, 6)
    if way == "hook":
        protect_outputs(model, SPEC, outputs="logits")
    served = nn.Sequential(model, ReleasedScores(SPEC, outputs="logits")).eval() if way != "hook" else model
    record = {
        "export": lambda: torch.export.export(served, (x,), strict=False),
        "script": lambda: torch.jit.script(served),
    }
    with pytest.raises(SettingError, match="script, trace or export the model without it"):
        record.get(way, lambda: torch.jit.trace(served, x, check_trace=False))()

"""The same joint model in fewer steps: same logits, same gradients, and embeddings stay those that parties send."""

import pytest
import torch
from torch import nn

from privee.attacks.joint_logits import JointLogits
from privee.attacks.merged_steps import merged_steps
from privee.vfl.models import ConcatTop, Scaling


def parts(parties: int = 2, classes: int = 3) -> tuple[list[nn.Module], nn.Module]:
    torch.manual_seed(0)
    bottoms: list[nn.Module] = []
    for _ in range(parties):
        scaling = Scaling()
        scaling.put(torch.tensor([[0.1, 0.7]] * 4), torch.randn(4, 2))
        bottoms.append(nn.Sequential(scaling, nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 8)))
    return bottoms, ConcatTop(nn.Linear(8 * parties, classes))


def as_given(bottoms, top, own, unknown):
    return top([bottom(rows) for bottom, rows in zip(bottoms, (own, unknown), strict=True)])


def test_the_merged_model_is_the_same_function():
    bottoms, top = parts()
    own, unknown = torch.rand(5, 4), torch.rand(5, 4).requires_grad_()
    joined = JointLogits(bottoms, top, [(4,), (4,)])
    assert joined._short is not None
    wanted, found = as_given(bottoms, top, own, unknown), joined(own, unknown)
    assert torch.allclose(found.float(), wanted, atol=1e-5)
    slopes = [torch.autograd.grad(logits.square().sum(), unknown)[0] for logits in (wanted, found)]
    assert torch.allclose(*slopes, rtol=1e-3, atol=1e-4)
    (repeated,) = joined.repeated([own], unknown, 1)
    assert torch.allclose(repeated.float(), wanted, atol=1e-5)
    sent = joined.embeddings(own, unknown, [1])
    assert torch.equal(sent, bottoms[1](unknown).double())


@pytest.mark.parametrize("classes", [3, 9])
def test_what_cannot_be_merged_or_would_be_more_work_stays(classes):
    bottoms, top = parts(classes=classes)
    assert (merged_steps(bottoms, top) is None) == (classes == 9)
    hidden = ConcatTop(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, classes)))
    assert merged_steps(bottoms, hidden) is None
    bent = [nn.Sequential(*bottom.children(), nn.ReLU()) for bottom in bottoms]
    assert merged_steps(bent, top) is None

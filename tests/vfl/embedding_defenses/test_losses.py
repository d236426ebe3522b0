"""What each adds to the loss, against computations written out another way."""

import copy

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence

from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.embedding_defenses.adversarial import RATE, STEPS
from privee.vfl.embedding_defenses.base import Place
from privee.vfl.embedding_defenses.bottoms import with_penalty
from privee.vfl.embedding_defenses.dcor import distance_correlation
from privee.vfl.embedding_defenses.mid import divergence, log_softplus
from privee.vfl.seal.steps import start_steps


def doubles(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).normal(size=shape))


def plain_distance_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """By the definition, in loops."""
    n = len(x)

    def centred(rows):
        far = [[float(np.sqrt(((rows[i] - rows[j]) ** 2).sum())) for j in range(n)] for i in range(n)]
        of_row = [sum(far[i]) / n for i in range(n)]
        of_all = sum(of_row) / n
        return [[far[i][j] - of_row[i] - of_row[j] + of_all for j in range(n)] for i in range(n)]

    a, b = centred(x), centred(y)

    def covariance(one, other):
        return sum(one[i][j] * other[i][j] for i in range(n) for j in range(n)) / n**2

    return float(np.sqrt(covariance(a, b) / np.sqrt(covariance(a, a) * covariance(b, b))))


def made(spec: str, columns: int = 4, width: int = 3):
    torch.manual_seed(1)
    bottom = torch.nn.Linear(columns, width)
    module = embedding_defense(spec).around(bottom, Place("shop", columns, width)).double().train()
    start_steps(module, 5, 100)
    return module


@pytest.mark.parametrize("seed", range(4))
def test_distance_correlation_is_the_plain_one(seed):
    x, y = doubles(17, 3, seed=seed), doubles(17, 5, seed=seed + 100)
    y[:, 0] += x[:, 1] ** 2
    assert float(distance_correlation(x, y)) == pytest.approx(
        plain_distance_correlation(x.numpy(), y.numpy()), abs=1e-12
    )


def test_distance_correlation_at_its_ends():
    x = doubles(60, 4)
    turn = torch.linalg.qr(doubles(4, 4, seed=9))[0]
    assert float(distance_correlation(x, 3 * x @ turn + 1)) == pytest.approx(1)
    assert float(distance_correlation(x, torch.ones(60, 2, dtype=x.dtype))) == pytest.approx(0, abs=1e-5)
    # Of independent columns what is left falls with the number of records; a square is seen, which correlation misses.
    assert float(distance_correlation(doubles(600, 1), doubles(600, 1, seed=3))) < 0.15
    assert float(distance_correlation(doubles(600, 1), doubles(600, 1) ** 2)) > 0.4


def test_its_gradient_is_the_slope():
    x, y = doubles(9, 2), doubles(9, 3, seed=4).requires_grad_()
    assert torch.autograd.gradcheck(lambda embedding: distance_correlation(x, embedding).log(), (y,))


def test_records_that_agree_have_a_gradient_too():
    x, y = doubles(6, 2), torch.zeros(6, 3, dtype=torch.float64, requires_grad=True)
    distance_correlation(x, y).log().backward()
    assert torch.isfinite(y.grad).all()


def test_of_two_kinds_of_records_nothing_can_be_lowered():
    """Any embedding that tells them apart has distance correlation 1, and no slope; of three kinds it has one."""
    for kinds, flat in ((2, True), (3, False)):
        column = torch.arange(12.0).double().remainder(kinds)[:, None]
        bent = doubles(kinds, 5)[column[:, 0].long()].requires_grad_()
        found = distance_correlation(column, bent)
        (slope,) = torch.autograd.grad(found, bent)
        # Moves of all records of a kind alike: a network gives equal columns equal embeddings.
        alike = torch.stack([slope[column[:, 0] == kind].sum(dim=0) for kind in range(kinds)])
        assert (alike.abs().max().item() < 1e-12) == flat
        assert (abs(found.item() - 1) < 1e-12) == flat


def test_divergence_is_the_known_one():
    mean, deviation = doubles(6, 4), doubles(6, 4, seed=2).exp()
    known = kl_divergence(Normal(mean, deviation), Normal(torch.zeros(4).double(), torch.ones(4).double())).sum(dim=1)
    assert torch.allclose(divergence(mean, deviation), known)


def test_the_logarithm_of_a_spread_that_vanishes_is_finite_and_has_a_slope():
    """At -200 softplus is 0 in float32; where it is not, its logarithm is that of torch."""
    raw = torch.tensor([-200.0, -110.0, -20.0, -15.0, -3.0, 0.0, 4.0], requires_grad=True)
    found = log_softplus(raw)
    exact = torch.log1p(raw.double().exp()).log()[2:]
    assert torch.equal(found[:2], raw[:2])
    assert torch.allclose(found[2:].double(), exact, rtol=1e-6)
    found.sum().backward()
    assert torch.isfinite(raw.grad).all()
    assert (raw.grad[:3] == 1).all()


def test_a_penalty_comes_back_with_the_gradient_of_the_embedding():
    weights, x, gradient = doubles(4, 3).requires_grad_(), doubles(8, 4, seed=1), doubles(8, 3, seed=2)
    embedding = x @ weights
    with_penalty(embedding, 0.7 * embedding.square().sum()).backward(gradient)
    found, weights.grad = weights.grad, None
    embedding = x @ weights
    ((embedding * gradient).sum() + 0.7 * embedding.square().sum()).backward()
    assert torch.allclose(found, weights.grad)


def test_mid_is_the_formula_with_draws_of_its_own():
    module, x = made("mid:weight=0.5"), doubles(50, 4, seed=3)
    drawn = module(x).detach()
    mean, raw = module.heads(module.bottom(x)).detach().chunk(2, dim=1)
    noise = (drawn - mean) / torch.nn.functional.softplus(raw - 0.5)
    again = (module(x).detach() - mean) / torch.nn.functional.softplus(raw - 0.5)
    assert abs(float(noise.mean())) < 0.4  # 150 draws: five standard errors
    assert abs(float(noise.std()) - 1) < 0.3
    assert (noise - again).abs().max() > 0.1  # another batch, other draws
    assert torch.equal(module.eval()(x), mean)
    assert torch.allclose(module.sent(x, noise), drawn)


@pytest.mark.parametrize("spec", ["mid:weight=0.3", "dcor:weight=0.3", "adversarial:weight=0.3"])
def test_what_a_step_follows_is_task_and_penalty_together(spec):
    """Against the gradient of a loss that is written out, for the bottom's own weights."""
    module, x, gradient = made(spec), doubles(12, 4, seed=6).sigmoid(), doubles(12, 3, seed=7)
    embedding = module(x)
    embedding.backward(gradient)
    found = module.bottom.weight.grad.clone()
    inside = module.bottom(x)
    if spec.startswith("mid"):
        mean, deviation = module.spread(inside)
        noise = ((embedding - mean) / deviation).detach()
        total = ((mean + deviation * noise) * gradient).sum() + 0.3 * divergence(mean, deviation).mean()
    elif spec.startswith("dcor"):
        total = (inside * gradient).sum() + 0.3 * distance_correlation(x, inside).log()
    else:
        total = (inside * gradient).sum() - 0.3 * module.adversary.error(x, inside)
    (expected,) = torch.autograd.grad(total, module.bottom.weight)
    assert torch.allclose(found, expected)


def test_the_adversary_learns_by_adam_and_by_itself():
    """With each batch some steps towards a smaller error; the party's own optimizer has nothing to do with it."""
    module, x = made("adversarial:weight=0.3"), doubles(12, 4, seed=6).sigmoid()
    twin = copy.deepcopy(module.adversary)
    adam = torch.optim.Adam(twin.network.requires_grad_().parameters(), lr=RATE)
    inside = module.bottom(x).detach()
    before = float(module.adversary.error(x, inside))
    for _ in range(2 * STEPS):
        adam.zero_grad()
        twin.error(x, inside).backward()
        adam.step()
    module(x)
    module(x)
    for mine, theirs in zip(module.adversary.network.parameters(), twin.network.parameters(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-9)
    assert float(module.adversary.error(x, inside)) < before
    assert {name for name, p in module.named_parameters() if p.requires_grad} == {"bottom.weight", "bottom.bias"}


def test_a_guess_is_an_error_of_about_one():
    module, x = made("adversarial"), doubles(4000, 4, seed=6).sigmoid()
    with torch.no_grad():
        module.adversary.network[-2].weight.zero_()
        module.adversary.network[-2].bias.copy_(x.mean(dim=0).logit())
        assert float(module.adversary.error(x, module.bottom(x))) == pytest.approx(1, abs=1e-6)


def test_growing_is_no_way_to_escape():
    module, x = made("adversarial"), doubles(50, 4, seed=6).sigmoid()
    with torch.no_grad():
        error = [float(module.adversary.error(x, scale * module.bottom(x))) for scale in (1, 1000)]
    assert error[0] == pytest.approx(error[1], rel=1e-4)


def test_dropout_leaves_out_that_share_and_keeps_the_mean():
    """40,000 numbers: five standard errors are 0.0115 of a share of 0.3."""
    module = made("dropout:rate=0.3", width=40)
    x = doubles(1000, 4)
    kept = (module(x) / module.bottom(x)).detach()
    assert abs(float((kept == 0).double().mean()) - 0.3) < 0.0115
    assert float(kept[kept != 0].min()) == pytest.approx(1 / 0.7)
    assert torch.equal(module.eval()(x), module.bottom(x))


@pytest.mark.parametrize("spec", ["mid", "dcor", "dropout", "adversarial"])
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_last_batch_may_be_of_one_record(spec, rows):
    module = made(spec)
    module(doubles(rows, 4).sigmoid()).backward(torch.ones(rows, 3).double())
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in module.parameters())

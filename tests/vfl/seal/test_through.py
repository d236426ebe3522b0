"""Two linear layers made one give the same numbers and gradients, and a response made ahead the same law."""

from __future__ import annotations

import pytest
import torch
from scipy import stats
from torch import nn

from privee.vfl import make_models
from privee.vfl.seal.encoders import KEPT, response_to, through
from privee.vfl.seal.settings import parse_seal


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("codes", [2, 16, 17])
def test_same_numbers_and_gradients(codes: int, bias: bool) -> None:
    torch.manual_seed(codes)
    bottom = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 6, bias=bias)).double()
    head, columns = nn.Linear(6, codes).double(), torch.rand(9, 5, dtype=torch.float64)
    parameters = [*bottom.parameters(), *head.parameters()]
    pull = torch.randn(9, codes, dtype=torch.float64)
    found, plain = through(bottom, head, columns), head(bottom(columns))
    torch.testing.assert_close(found, plain)
    torch.testing.assert_close(
        torch.autograd.grad(found, parameters, pull), torch.autograd.grad(plain, parameters, pull)
    )


def test_bottoms_that_end_otherwise() -> None:
    bottom, head = nn.Sequential(nn.Linear(5, 6), nn.Tanh()), nn.Linear(6, 4)
    columns = torch.rand(9, 5)
    torch.testing.assert_close(through(bottom, head, columns), head(bottom(columns)))


def test_response_follows_its_law() -> None:
    """A chi-square test; one run in 1,000 fails by chance, and the seed is fixed."""
    seal = parse_seal("codes=4,epsilon=1")
    uniform = torch.rand(400_000, generator=torch.Generator().manual_seed(7), dtype=torch.float64)
    instead = response_to(seal)(uniform).view(-1, 2)[:, 0]
    counts = [int((instead == value).sum()) for value in (KEPT, *range(4))]
    wanted = [seal.keeps, *[(1 - seal.keeps) / 4] * 4]
    assert stats.chisquare(counts, [share * len(instead) for share in wanted]).pvalue > 1e-3


def test_a_trained_encoder_takes_the_short_way(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = make_models("mlp", {"a": (6,), "b": (5,)}, 3, 0, {"b": parse_seal("codes=8")})[0]["b"]
    columns = torch.rand(200, 5)
    torch.testing.assert_close(encoder(columns), encoder.head(encoder.bottom(columns)))
    monkeypatch.setattr(encoder.head, "forward", None)
    assert encoder(columns).shape == (200, 8)
    with pytest.raises(TypeError):
        encoder.choose(columns)

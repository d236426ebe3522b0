"""A model with its optimizer: what every role trains, saves and restores in the same way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.func import functional_call

from privee.errors import PriveeError
from privee.vfl.weights import load_optimizer_tensors, optimizer_tensors

OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "sgd": partial(torch.optim.SGD, momentum=0.9),
}
"""By name; `sgd` is stochastic gradient descent with momentum."""


class Learner:
    """A module and, once training starts, an optimizer for it."""

    def __init__(self, model: nn.Module) -> None:
        self.model = model.eval()
        self._training = False
        self._parameters: list[nn.Parameter] = []
        self._optimizer: torch.optim.Optimizer | None = None

    def start(self, learning_rate: float, decay: float = 0.0, optimizer: str = "adam") -> None:
        """Make a fresh optimizer; a model without parameters needs none.

        Args:
            learning_rate: of the optimizer; `set_rate` changes it later.
            decay: pull of the weights towards 0, biases apart; the gradient of half of it times their squares.
            optimizer: one of `OPTIMIZERS`.
        """
        self._parameters = [p for p in self.model.parameters() if p.requires_grad]
        if self._parameters:  # fused: one kernel per step, so that several small optimizers cost no more than one
            groups = [{"params": [p], "weight_decay": decay if p.ndim > 1 else 0.0} for p in self._parameters]
            given = groups if decay else self._parameters
            self._optimizer = OPTIMIZERS[optimizer](given, lr=learning_rate, fused=True)

    def set_rate(self, learning_rate: float) -> None:
        """Learn at this rate from the next step on."""
        for group in [] if self._optimizer is None else self._optimizer.param_groups:
            group["lr"] = learning_rate

    def mode(self, train: bool) -> None:
        """Switch between training and evaluation, only when it changes: walking the modules costs time."""
        if train != self._training:
            self.model.train(train)
            self._training = train

    def step(self, output: Tensor, gradient: Tensor) -> None:
        """Push a gradient back through `output` and take one optimizer step."""
        output.backward(gradient)
        self._take_step()

    def run_on_copies(self, batch: Tensor) -> tuple[Tensor, list[Tensor]]:
        """The model's output from copies of its parameters, and the copies: later steps do not change them."""
        names = [name for name, parameter in self.model.named_parameters() if parameter.requires_grad]
        copies = [parameter.detach().clone().requires_grad_() for parameter in self._parameters]
        output: Tensor = functional_call(self.model, dict(zip(names, copies, strict=True)), (batch,))
        return output, copies

    def step_from_copies(self, output: Tensor, copies: list[Tensor], gradient: Tensor) -> None:
        """One optimizer step with the gradient at the copies: a step that was decided some steps ago."""
        for parameter, found in zip(self._parameters, torch.autograd.grad(output, copies, gradient), strict=True):
            parameter.grad = found
        self._take_step()

    def _take_step(self) -> None:
        if self._optimizer is not None:
            self._optimizer.step()
            for parameter in self._parameters:  # what zero_grad does, without its bookkeeping
                parameter.grad = None

    def weights(self) -> dict[str, Tensor]:
        """The model's tensors, by name."""
        return {name: tensor.detach().contiguous() for name, tensor in self.model.state_dict().items()}

    def load_weights(self, weights: dict[str, Tensor], whose: str) -> None:
        """Put saved tensors back; names and shapes must agree."""
        try:
            self.model.load_state_dict(weights)
        except RuntimeError:
            raise PriveeError(f"the saved weights of {whose} do not fit its model") from None

    def state(self) -> dict[str, Tensor]:
        """Weights and optimizer state, flat, for a checkpoint."""
        state = {f"model.{name}": tensor for name, tensor in self.weights().items()}
        if self._optimizer is not None:
            state |= optimizer_tensors(self._optimizer)
        return state

    def load_state(self, state: dict[str, Tensor], whose: str) -> None:
        """Go on from a checkpoint; call `start` first."""
        self.load_weights({name[6:]: t for name, t in state.items() if name.startswith("model.")}, whose)
        if self._optimizer is not None:
            load_optimizer_tensors(self._optimizer, state)

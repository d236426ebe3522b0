"""PyTorch: a module for the end of a model, and a hook for a model that cannot be changed.

Both fail closed. They release in training mode as well as in evaluation mode, so that a forgotten `model.eval()` hands
out no scores; and where somebody trains, they refuse, because no gradient passes a release.
"""

from __future__ import annotations

from typing import Any

from privee.extras import require

require("privee.adapters.torch", "torch", extra="torch")

import torch
from torch import Tensor, nn
from torch.jit._trace import is_tracing
from torch.utils.hooks import RemovableHandle

from privee.adapters._given import Outputs, given_defense, given_outputs
from privee.defenses import Defense
from privee.errors import SettingError
from privee.randomness import Draws

__all__ = ["ReleasedScores", "protect_outputs"]

NO_GRAPH = "a release is drawn anew in each call: script, trace or export the model without it; protect what loads it"


class ReleasedScores(nn.Module):
    """The last module of a model: takes its outputs, gives releases of the same shape, dtype and device.

    It has no parameters, so a `state_dict` is the same with and without it. The work is done on the CPU.

    Args:
        defense: a defense, or a spec such as "ordered-dp:epsilon=4".
        outputs: what comes in: "scores" (rows sum to 1) or "logits" (a softmax over the last axis makes scores of it).
        draws: secure unless given (`privee.seeded(7)` for experiments; a module that holds such draws is not copied).

    Example:
        >>> model = nn.Sequential(nn.Linear(4, 3), ReleasedScores("ordered-dp:epsilon=4", outputs="logits")).eval()
        >>> model(torch.ones(2, 4)).shape
        torch.Size([2, 3])
    """

    def __init__(self, defense: Defense | str, *, outputs: Outputs, draws: Draws | None = None) -> None:
        super().__init__()
        self.defense, self.outputs, self.draws = given_defense(defense), given_outputs(outputs), draws

    @torch.compiler.disable  # type: ignore[untyped-decorator]
    def forward(self, values: Tensor) -> Tensor:
        """Releases of (..., classes); no gradient passes."""
        if is_tracing() or torch.compiler.is_exporting():
            raise SettingError(NO_GRAPH)  # what is recorded would be one release, handed out again for every record
        if not isinstance(values, Tensor) or values.ndim < 1:
            raise SettingError("the model must put out one tensor of shape (..., classes), and nothing beside it")
        if self.training and torch.is_grad_enabled() and values.requires_grad:
            raise SettingError(
                "no gradient passes a release: train the model without it, or call eval() if this is no training"
            )
        scores = values.detach()
        if self.outputs == "logits":
            scores = torch.softmax(scores, dim=-1)
        release: Tensor = self.defense.release(scores.reshape(-1, scores.shape[-1]), draws=self.draws)
        return release.reshape(scores.shape)

    def __prepare_scriptable__(self) -> nn.Module:
        """What `torch.jit.script` asks first, of this module and of any that holds it."""
        raise SettingError(NO_GRAPH)

    def extra_repr(self) -> str:
        """The defense's settings."""
        return f"{self.defense.spec!r}, outputs={self.outputs!r}"


def protect_outputs(
    model: nn.Module, defense: Defense | str, *, outputs: Outputs, draws: Draws | None = None
) -> RemovableHandle:
    """From now on `model(...)` gives releases; `handle.remove()` ends that.

    The hook acts on calls of the model. `model.forward(...)`, its parts, and hooks that were there before see scores.

    Args:
        model: puts out one tensor.
        defense: a defense, or a spec.
        outputs: is that tensor "scores" or "logits"?
        draws: secure unless given.
    """
    if not isinstance(model, nn.Module):
        raise SettingError("protect_outputs takes a torch.nn.Module")
    last = ReleasedScores(defense, outputs=outputs, draws=draws)

    def release(module: nn.Module, given: Any, values: Any) -> Tensor:
        released: Tensor = last.train(module.training)(values)
        return released

    return model.register_forward_hook(release)

"""PyTorch: a module for the end of a model, and a hook for a model that cannot be changed.

Both fail closed. They release in training mode as well as in evaluation mode, so that a forgotten `model.eval()` hands
out no scores; and where somebody trains, they refuse, because no gradient passes a release. They refuse to be recorded
in any graph: it would hold one release for ever, or, of a model with a hook, none.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from typing import Any

from privee.extras import require

require("privee.adapters.torch", "torch", extra="torch")

import torch
from torch import Tensor, nn
from torch.fx import GraphModule, Proxy
from torch.fx import _symbolic_trace as fx_trace
from torch.jit import ScriptModule
from torch.jit._trace import is_tracing
from torch.utils.hooks import RemovableHandle

from privee.adapters._given import Outputs, given_defense, given_outputs
from privee.defenses import Defense
from privee.errors import SettingError
from privee.randomness import Draws

__all__ = ["ReleasedScores", "protect_outputs"]

NO_GRAPH = "a release is drawn anew in each call: script, trace or export the model without it; protect what loads it"
NO_HOOK = (
    "a hook is lost where a scripted, traced or exported model is copied or saved: put it into "
    "nn.Sequential(model, ReleasedScores(...))"
)
NO_STAND_IN = "a release is made of plain tensors: call the model without torch.func's vmap or gradients"
_WHY = {"reason": NO_GRAPH} if "reason" in inspect.signature(torch.compiler.disable).parameters else {}
_is_exporting = getattr(torch.compiler, "is_exporting", torch.compiler.is_compiling)  # that of older versions
_PROXIES = "torch.fx.experimental.proxy_tensor"
_GUARDS = ("__prepare_scriptable__", "_get_name")


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

    @torch.compiler.disable(**_WHY)  # type: ignore[untyped-decorator]
    def forward(self, values: Tensor) -> Tensor:
        """Releases of (..., classes); no gradient passes."""
        if _is_recorded(values):
            raise SettingError(NO_GRAPH)  # what is recorded would be one release, handed out again for every record
        if isinstance(values, Tensor) and torch._C._functorch.is_functorch_wrapped_tensor(values):
            raise SettingError(NO_STAND_IN)
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
    if isinstance(model, ScriptModule | GraphModule):
        raise SettingError(NO_HOOK)
    handle = model.register_forward_hook(_Hook(ReleasedScores(defense, outputs=outputs, draws=draws)))
    _guard(model)
    return _Handle(model, handle)


class _Hook:
    """Not a function, so that it goes along when the model is copied or pickled."""

    def __init__(self, last: ReleasedScores) -> None:
        self.last = last

    def __call__(self, module: nn.Module, given: Any, values: Any) -> Tensor:
        if isinstance(values, Proxy):
            raise SettingError(NO_GRAPH)
        released: Tensor = self.last.train(module.training)(values)
        return released


class _Handle(RemovableHandle):
    """Takes the guards away with the last hook."""

    def __init__(self, model: nn.Module, handle: RemovableHandle) -> None:
        self.__dict__.update(handle.__dict__)
        self._model = weakref.ref(model)

    def remove(self) -> None:
        super().remove()
        model = self._model() if "_model" in self.__dict__ else None  # a copied handle has none
        if model is not None and not any(isinstance(hook, _Hook) for hook in model._forward_hooks.values()):
            for name in _GUARDS:
                model.__dict__.pop(name, None)


def _guard(model: nn.Module) -> None:
    """Scripting and symbolic tracing read a model's code and call no hook; these attributes they ask first."""
    model.__dict__["__prepare_scriptable__"] = _no_script
    model.__dict__["_get_name"] = functools.partial(_name_unless_traced, model._get_name())


def _no_script() -> nn.Module:
    raise SettingError(NO_GRAPH)


def _name_unless_traced(name: str) -> str:
    if fx_trace._is_fx_tracing_flag:
        raise SettingError(NO_GRAPH)
    return name


def _is_recorded(values: Any) -> bool:
    """Whether some tool takes down what is done here."""
    proxies = sys.modules.get(_PROXIES)  # slow to import, and without it there is none of that
    if is_tracing() or _is_exporting() or (proxies is not None and proxies.get_proxy_mode() is not None):
        return True
    strange = isinstance(values, Tensor) and type(values).__torch_dispatch__ is not Tensor.__torch_dispatch__
    return strange or isinstance(values, Proxy)

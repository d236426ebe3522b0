"""The options of every budget policy, on a command that takes them together."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer

from privee.gateway.budget.base import Option
from privee.gateway.budget.registry import budget_options


def with_budget_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the policies' options in place of a command's parameter `budget`, a dict of them."""
    parameters = {option.name: _parameter(option) for option in budget_options()}

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        budget = {name: values.pop(name) for name in parameters}
        command(budget=budget, **values)

    signature = inspect.signature(command, eval_str=True)
    laid_out = [
        one
        for parameter in signature.parameters.values()
        for one in (parameters.values() if parameter.name == "budget" else [parameter])
    ]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in laid_out]
    with_options.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    return with_options


def _parameter(option: Option) -> inspect.Parameter:
    names = [f"--{option.name.replace('_', '-')}", *([option.short] if option.short else [])]
    kind = option.kind if option.default is not None else option.kind | None
    annotation = Annotated[kind, typer.Option(*names, min=option.least, help=option.help)]  # type: ignore[valid-type]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)

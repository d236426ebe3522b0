"""Budget policies by name, and those that settings ask for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.base import BudgetPolicy, Option
from privee.gateway.budget.price import Price
from privee.registry import Registry

POLICIES: Registry[BudgetPolicy] = Registry("budget policy", ("privee.gateway.budget",))
Policy = TypeVar("Policy", bound=BudgetPolicy)


def register(cls: type[Policy]) -> type[Policy]:
    """Add a policy; refuses a name that is taken, and a sum that the ledger does not store."""
    if cls.counter not in Price._fields:
        raise SettingError(f"{cls.name} counts {cls.counter!r}; the ledger stores {', '.join(Price._fields)}")
    return POLICIES.register(cls)


def known_policies() -> list[type[BudgetPolicy]]:
    """All policies, in the order of their places."""
    return list(POLICIES.known().values())


def budget_options() -> list[Option]:
    """What can be set of all policies."""
    return options_of(known_policies())


def options_of(policies: Iterable[type[BudgetPolicy]]) -> list[Option]:
    """What can be set of these policies; refuses an option that two of them have."""
    found: dict[str, tuple[str, Option]] = {}
    for cls in policies:
        for option in cls.options:
            other, held = found.setdefault(option.name, (cls.name, option))
            if held is not option:
                raise SettingError(f"{other} and {cls.name} both have an option {option.name!r}")
    return [option for _, option in found.values()]


def wanted_policies(given: Mapping[str, Any], defense: Defense, n_classes: int) -> tuple[BudgetPolicy, ...]:
    """The policies that settings ask for; of several on one quantity, the one with the lowest limit.

    Args:
        given: settings by the names of the policies' options; what is left out has its default.
        defense: what makes the releases.
        n_classes: of the model.
    """
    values = {option.name: option.default for option in budget_options()}
    unknown = sorted(given.keys() - values.keys())
    if unknown:
        raise SettingError(f"no budget policy has an option {unknown[0]!r}; there are {', '.join(values)}")
    lowest: dict[str, BudgetPolicy] = {}
    for cls in known_policies():
        policy = cls.wanted({**values, **given}, defense, n_classes)
        if policy and (policy.quantity not in lowest or policy.limit < lowest[policy.quantity].limit):
            lowest[policy.quantity] = policy
    return tuple(lowest.values())

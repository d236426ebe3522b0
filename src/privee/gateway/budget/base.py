"""The contract of a budget policy: what it counts, whether a sum fits, what remains, its words and its options.

A policy is one file in this folder: a frozen dataclass with the decorator `register`. The command line, the gateway's
settings, the database's condition, refusals, prices and the dashboard take all they need from it.

Policies are found by name, and those that settings ask for are made of them.
"""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, TypeVar

from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.price import CAP, UNIT, Price
from privee.registry import Registry


@dataclasses.dataclass(frozen=True)
class Option:
    """One setting of a policy: an option of `privee gateway serve` and a field of the gateway's settings.

    Attributes:
        name: in Python; on the command line it has two hyphens in front.
        kind: int or float.
        help: one line for the command line.
        default: what holds unless it is given.
        short: a second name on the command line, such as "-p".
        least: the smallest that the command line takes.
    """

    name: str
    kind: type[int] | type[float]
    help: str
    default: float | None = None
    short: str | None = None
    least: int | None = None


@dataclasses.dataclass(frozen=True)
class BudgetPolicy(abc.ABC):
    """What one entity may give away by one measure.

    The ledger adds up the four sums of `Price` for every entity, whatever the policy. The methods here are those of a
    policy that looks at one of them: `weight` times `counter` is `limit` at most. One that decides otherwise has its
    own `fits` and `condition`, which must agree to the last bit, and its own `remaining` and `used`.

    Attributes:
        name: in the registry.
        quantity: what is limited, as prices and refusals call it; of several policies on one the lowest limit holds.
        counter: the stored sum it looks at.
        scale: whole numbers in one of what people read: a trillion for epsilon.
        options: what can be set.
        place: where its options and words stand among those of others, the lowest first.
        limit: a whole number, rounded down.
    """

    name: ClassVar[str]
    quantity: ClassVar[str]
    counter: ClassVar[str] = "releases"
    scale: ClassVar[int] = 1
    options: ClassVar[tuple[Option, ...]] = ()
    place: ClassVar[int] = 100

    limit: int

    def __post_init__(self) -> None:
        if type(self.limit) is not int or not 0 <= self.limit < CAP:
            raise SettingError(f"the limit on {self.quantity} must be a whole number from 0 on")

    @classmethod
    @abc.abstractmethod
    def wanted(cls, given: Mapping[str, Any], defense: Defense, n_classes: int) -> Self | None:
        """The policy that these settings ask for, None if they do not; every policy's options are among them."""

    @abc.abstractmethod
    def allowed_words(self) -> str:
        """What each entity may give, after "Each entity may give": such as "4 releases"."""

    @abc.abstractmethod
    def used_words(self, used: float) -> str:
        """How much of that was used, such as "3 of 4 releases"."""

    def promise_words(self) -> str:
        """What keeping to it is good for, in a sentence, if there is something to say."""
        return ""

    @property
    def weight(self) -> int:
        """What one of the counter counts against the limit, 1 or more."""
        return 1

    def fits(self, total: Price) -> bool:
        """Whether an entity may have given away this much."""
        return getattr(total, self.counter) <= self._most

    def condition(self, sums: Mapping[str, str]) -> str:
        """The same comparison for the database, of the expressions that a charge makes the sums."""
        return f"({sums[self.counter]}) <= {self._most}"

    def remaining(self, spent: Price, price: Price) -> int | None:
        """How many more at this price fit; None if there is no end."""
        if not self.fits(spent.plus(price)):
            return 0
        each = getattr(price, self.counter)
        return (self._most - getattr(spent, self.counter)) // each if each else None

    def used(self, total: Price) -> float:
        """How much of what is limited this is, as people read it."""
        return self._shown(getattr(total, self.counter) * self.weight)

    def share(self, total: Price) -> float:
        """How much of the limit is used up, 0 to 1."""
        used = self.used(total) * self.scale
        return 0.0 if used == 0 else min(used / self.limit, 1.0) if self.limit else 1.0

    def part(self, share: int) -> Self:
        """What a key with this share, in trillionths, may take of it; rounded down."""
        return dataclasses.replace(self, limit=self.limit * share // UNIT)

    def as_dict(self) -> dict[str, float]:
        """The limit in plain numbers."""
        return {self.quantity: self._shown(self.limit)}

    @functools.cached_property
    def _most(self) -> int:
        return self.limit // self.weight  # of whole numbers: no product that a database cannot hold

    def _shown(self, whole: int) -> float:
        return whole if self.scale == 1 else whole / self.scale


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

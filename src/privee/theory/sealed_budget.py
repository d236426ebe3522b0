"""What several codes of one record add up to: of several parties, models, versions, or after the record changed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from privee.errors import SettingError
from privee.theory.sealed_bounds import code_bits, leaked_bits
from privee.theory.sealing import checked_codes, checked_epsilon

NOT_COVERED: tuple[str, ...] = (
    "what the other side's own columns tell already: the bounds say what a code adds to it",
    "that a record exists, or that it changed: who asks for a code, or gets a new one, learns that",
    "training with gradients (learn=joint), for the records of the training itself: what leaves then is no code",
    "the encoder, for the records that it was fitted on: the bounds are for someone who knows it already",
    "bits are not facts: a code may be exactly the yes/no that matters, and only epsilon bounds every single fact",
)
"""What no statement about sealed parties says, in plain sentences."""


@dataclass(frozen=True)
class SealedChannel:
    """One code for a record: one party's, by one encoder, drawn once.

    Attributes:
        codes: how many codes there are.
        epsilon: of the randomised response; None for codes without noise.
        name: what tells this draw from others. The same code in two models has one name, and is counted once; without a
            name every channel counts.

    Example:
        >>> bank = SealedChannel(8, 2.0, "bank")
        >>> bank.bits, round(bank.leaked_bits, 3)
        (3.0, 2.038)
    """

    codes: int
    epsilon: float | None = None
    name: str | None = None

    def __post_init__(self) -> None:
        checked_codes(self.codes)
        checked_epsilon(self.epsilon)

    @property
    def bits(self) -> float:
        """log2 of the codes: what it tells at most, noise or not."""
        return code_bits(self.codes)

    @property
    def leaked_bits(self) -> float:
        """What it tells at most, with its noise."""
        return leaked_bits(self.codes, self.epsilon)


@dataclass(frozen=True)
class Lifetime:
    """What all codes of one record tell together, at most.

    Attributes:
        bits: a right guess of anything is at most 2^bits times as likely as without the codes (`guess_bound`).
        epsilon: the odds of any fact move by a factor of e^epsilon at most (`odds_bound`); None if nothing bounds them.
    """

    bits: float
    epsilon: float | None


def total(channels: Iterable[SealedChannel]) -> Lifetime:
    """Bits add up, and so do epsilons; one channel without epsilon leaves facts without a bound.

    Theorem: let the codes Y_1, ..., Y_k of a record have noise of their own each. The encoder of each may depend on all
    codes before it (a later version is trained on them). Then leakage is at most the sum of leakages, and epsilon the
    sum of epsilons.

    Proof. Given the record x, y_1 ... y_k has probability P(y_1 | x) P(y_2 | x, y_1) ... Leakage: the largest product
    over x is at most the product of the largest factors; sum over y_k first, whatever the codes before it that is at
    most S_k = 2^(leakage of channel k), then over y_(k-1), and so on: S <= S_1 ... S_k. Epsilon: each factor is within
    e^(epsilon_i) of that for another record, so the product is within the product of these. ∎ A code that is given
    again, or to another model, is a function of what is counted already, and adds nothing (post-processing).

    Count all parties that hold columns of an entity: their columns may bear on the same fact.

    Raises:
        SettingError: one name stands for two different channels.

    Example:
        >>> bank, shop = SealedChannel(8, 2.0, "bank"), SealedChannel(4, 1.0, "shop")
        >>> total([bank, shop, bank]).epsilon, round(total([bank, shop, bank]).bits, 3)
        (3.0, 2.966)
        >>> total([bank, SealedChannel(2)]).epsilon is None
        True
    """
    named: dict[str, SealedChannel] = {}
    counted = []
    for one in channels:
        if one.name is None:
            counted.append(one)
        elif named.setdefault(one.name, one) != one:
            raise SettingError(f"two different channels are named {one.name}; give each code a name of its own")
    counted += named.values()
    epsilons = [one.epsilon for one in counted if one.epsilon is not None]
    bounded = len(epsilons) == len(counted)
    return Lifetime(math.fsum(one.leaked_bits for one in counted), math.fsum(epsilons) if bounded else None)


def after_changes(channel: SealedChannel, times: int) -> tuple[SealedChannel, ...]:
    """The channels of a record that changed so many times and got a new code each time: the first one and `times` more.

    A new code is a new draw, and most of a changed record is what it was: in the worst case it is one more draw for the
    same true code. No new code for a changed record costs nothing.

    Example:
        >>> total(after_changes(SealedChannel(8, 2.0, "bank"), 2)).epsilon
        6.0
    """
    if times < 0:
        raise SettingError(f"a record changes 0 times or more, got {times}")
    return (channel, *(_renamed(channel, change) for change in range(1, times + 1)))


def _renamed(channel: SealedChannel, change: int) -> SealedChannel:
    return channel if channel.name is None else replace(channel, name=f"{channel.name}, change {change}")

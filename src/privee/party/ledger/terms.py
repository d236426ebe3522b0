"""What answers cost an entity, what it may spend in its life, and what the ledger says to a question."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.durable.whole_numbers import CAP, UNIT, allowed, spent
from privee.errors import PriveeError, SettingError

MOST_CODES = 256  # what a byte can say


class Cost(NamedTuple):
    """What an entity has spent, or pays; bits and epsilon in trillionths.

    Attributes:
        bits: of the codes that were drawn for it.
        epsilon: of those codes; one without a proof of privacy costs the most there is.
        answers: of an unsealed party.
        variants: different ones among these.
    """

    bits: int = 0
    epsilon: int = 0
    answers: int = 0
    variants: int = 0

    def as_dict(self) -> dict[str, Any]:
        """In plain numbers; an epsilon without end is None."""
        epsilon = None if self.epsilon >= CAP else self.epsilon / UNIT
        return self._asdict() | {"bits": self.bits / UNIT, "epsilon": epsilon}


@dataclasses.dataclass(frozen=True)
class SealTerms:
    """What one code of a seal costs an entity, ever.

    Attributes:
        seal: identity of the seal, 64 hexadecimal digits: the same seal gives an entity the same code for ever.
        codes: how many there are; a code is a number below this.
        epsilon: of one draw; None without a proof of differential privacy.

    Example:
        >>> SealTerms("0" * 64, 16, 0.5).cost()
        Cost(bits=4000000000000, epsilon=500000000000, answers=0, variants=0)
    """

    seal: str
    codes: int
    epsilon: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.seal, str) or not re.fullmatch(r"[0-9a-f]{64}", self.seal):
            raise SettingError("a seal is named by 64 hexadecimal digits")
        if type(self.codes) is not int or not 2 <= self.codes <= MOST_CODES:
            raise SettingError(f"a seal has 2 to {MOST_CODES} codes")
        if self.epsilon is not None and not 0 <= self.epsilon < math.inf:
            raise SettingError("a seal's epsilon must be a number from 0 on, or None")

    @property
    def id(self) -> bytes:
        """As it is stored."""
        return bytes.fromhex(self.seal)

    def cost(self) -> Cost:
        """Of one code: log2 of how many there are, and epsilon; rounded up."""
        whole = self.codes.bit_length() - 1
        bits = whole * UNIT if self.codes == 1 << whole else spent(math.nextafter(math.log2(self.codes), math.inf))
        return Cost(bits, CAP if self.epsilon is None else spent(self.epsilon))


@dataclasses.dataclass(frozen=True)
class PartyLimits:
    """What an entity may spend in its life; None is no limit.

    Attributes:
        bits, epsilon: of codes, over all seals.
        releases: answers of an unsealed party.
        variants: different answers of an unsealed party: of another record, or by other weights.
    """

    bits: float | None = None
    epsilon: float | None = None
    releases: int | None = None
    variants: int | None = None

    def __post_init__(self) -> None:
        for name in ("bits", "epsilon"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not 0 < value < math.inf):
                raise SettingError(f"the limit on {name} must be a number above 0")
        for name in ("releases", "variants"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value < CAP):
                raise SettingError(f"the limit on {name} must be a whole number from 1 on")

    @property
    def of_codes(self) -> bool:
        """Whether it limits what only a sealed party gives."""
        return (self.bits, self.epsilon) != (None, None)

    @property
    def of_answers(self) -> bool:
        """Whether it limits what only an unsealed party gives."""
        return (self.releases, self.variants) != (None, None)

    def most(self) -> dict[str, int]:
        """Of what is limited, the most an entity may spend, in the numbers of `Cost`; rounded down."""
        whole = {"answers": self.releases, "variants": self.variants}
        parts = {"bits": self.bits, "epsilon": self.epsilon}
        found = {name: most for name, most in whole.items() if most is not None}
        return found | {name: allowed(most) for name, most in parts.items() if most is not None}

    def allow(self, cost: Cost) -> bool:
        """Whether an entity that has spent nothing could bear this."""
        return all(getattr(cost, name) <= most for name, most in self.most().items())

    def text(self) -> str:
        """As it is stored."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def of_text(cls, text: str | None) -> PartyLimits:
        """As it was stored; none, if nothing was."""
        try:
            return cls(**json.loads(text or "{}"))
        except (ValueError, TypeError):
            raise PriveeError("the limits that the party's ledger holds cannot be read: give them anew") from None


class Call(NamedTuple):
    """What the log says of a call beside counts.

    Attributes:
        request: the asker's own name for it.
        unknown: entities that were asked for too, and are none of this party's.
    """

    request: str = "-"
    unknown: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Pinned:
    """The codes of a question.

    Attributes:
        codes: for each entity; 0 for one that is refused.
        refused: which entities a new code would take beyond their limits.
        new: how many codes were drawn, and charged, for this question.
    """

    codes: NDArray[np.uint8]
    refused: NDArray[np.bool_]
    new: int

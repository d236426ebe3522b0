"""What a site's codes may tell of a record over all runs, and what one code costs."""

from __future__ import annotations

import dataclasses
import math

from privee.durable.whole_numbers import CAP, spent
from privee.errors import SettingError
from privee.vfl.seal import Seal


@dataclasses.dataclass(frozen=True, kw_only=True)
class Lifetime:
    """The most that a site gives away of a record, over all runs.

    Attributes:
        bits: of codes; None: any number.
        epsilon: of their draws; a code without an epsilon has none that is high enough. None: any.
    """

    bits: float | None = None
    epsilon: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not 0 < value < math.inf:
                raise SettingError(f"the most {name} of a site's codes must be above 0, got {value!r}")

    def __bool__(self) -> bool:
        return self.bits is not None or self.epsilon is not None

    @classmethod
    def of_text(cls, bits: str | None, epsilon: str | None) -> Lifetime:
        """As settings have it."""
        try:
            return cls(**{k: None if v is None else float(v) for k, v in (("bits", bits), ("epsilon", epsilon))})
        except ValueError as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError("the most bits and epsilon of a site's codes are numbers") from None


def cost_of(seal: Seal) -> dict[str, int]:
    """Of one code, in trillionths, as the party's own ledger counts it when it serves."""
    return {"bits": spent(seal.bits), "epsilon": CAP if seal.epsilon is None else spent(seal.epsilon)}

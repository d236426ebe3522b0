"""How long the gateway waits for its parties, and how often it asks."""

from __future__ import annotations

from dataclasses import dataclass

from privee.errors import SettingError


@dataclass(frozen=True)
class Patience:
    """How long to wait for parties.

    Attributes:
        deadline: Seconds for a whole request, retries included.
        attempts: Calls in all, if there is no connection.
        backoff: Seconds before the second attempt; it doubles with every further one.
    """

    deadline: float = 2.0
    attempts: int = 3
    backoff: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.deadline < 3600 or self.attempts < 1 or not 0 <= self.backoff < 3600:
            raise SettingError("the deadline must be above 0 s, attempts 1 or more, and the backoff not negative")

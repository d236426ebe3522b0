"""What a quickstart has made."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Literal

State = Literal["done", "unchanged"]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was made, and what had to be done for it.

    Attributes:
        run: the trained run.
        report: the audit's report.
        recommendation: its file; None if the plan names a defense.
        defense: what the service releases.
        met: whether it meets all wishes.
        service: folder of scripts, certificates and keys.
        steps: whether each was done now, or had been done with the same inputs.
        seconds: that each took.
    """

    run: Path
    report: Path
    recommendation: Path | None
    defense: str
    met: bool
    service: Path
    steps: dict[str, State]
    seconds: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = dataclasses.asdict(self)
        return {key: str(value) if isinstance(value, Path) else value for key, value in plain.items()}

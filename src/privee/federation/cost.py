"""What the line carried and how long it took, by kind of message."""

from __future__ import annotations

import itertools
import statistics
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

from privee.federation.frames import Content, Note
from privee.vfl.messages import Logits, Work, WorkAndLogits

REMEMBERED = 4096


def kind_of(content: Content) -> str:
    """Training steps apart from evaluation, and notes by their name."""
    if isinstance(content, Note):
        return f"note {content.name}"
    if isinstance(content, WorkAndLogits):
        return "training work and logits"
    training = isinstance(content, Work | Logits) and content.train
    return ("training " if training else "") + type(content).__name__.lower()


class Cost:
    """Bytes in all, and the last exchanges of each kind: seconds, and seconds without the slowest site's own work."""

    def __init__(self) -> None:
        self.exchanges, self.sent, self.received = 0, 0, 0
        self._steps: deque[float] = deque(maxlen=REMEMBERED)
        self._last: dict[str, deque[tuple[float, float, int, int]]] = {}

    def count(self, kind: str, sent: Iterable[bytes], received: Iterable[bytes], seconds: float, busy: float) -> None:
        """One exchange."""
        there, back = sum(map(len, sent)), sum(map(len, received))
        self.exchanges, self.sent, self.received = self.exchanges + 1, self.sent + there, self.received + back
        self._last.setdefault(kind, deque(maxlen=REMEMBERED)).append((seconds, seconds - busy, there, back))

    def step(self) -> None:
        """A training step is done."""
        self._steps.append(time.perf_counter())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; medians of the last exchanges of each kind."""
        apart = [later - earlier for earlier, later in itertools.pairwise(self._steps)]
        totals: dict[str, float] = {"exchanges": self.exchanges, "sent": self.sent, "received": self.received}
        totals |= {"step": statistics.median(apart)} if apart else {}
        return totals | {"kinds": {kind: _medians(last) for kind, last in sorted(self._last.items())}}


def _medians(last: Iterable[tuple[float, float, int, int]]) -> dict[str, float]:
    names = ("seconds", "transport", "sent", "received")
    columns = list(zip(*last, strict=True))
    return {"count": len(columns[0])} | {
        name: statistics.median(values) for name, values in zip(names, columns, strict=True)
    }

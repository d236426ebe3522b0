"""What a defense says of itself to those who choose one; `privee recommend` builds its answer from this alone."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Literal

from privee.errors import SettingError

Kept = Literal["class", "top", "ranking", "records"]
"""What may have to stay: exactly the predicted class, the order of some leading classes, or the whole ranking; or, as
far as epsilon allows, the order between records."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Advice:
    """What is said of a defense where one is to be chosen; one that says nothing is not mentioned.

    Attributes:
        keeps: what it can be asked to keep while showing no more of the order than that.
        meaningful: do its released numbers mean something beyond their order? Then its strength is an epsilon, and
            `Defense.within` makes it for one.
        wins: why it is the answer where the order alone was asked for; one without it is never chosen.
        loses: why it lost to another, in one sentence or by what must be kept; "{kept}" becomes the share of records
            that keep their ranking, "{between}" Kendall's tau between the scores and the release.
        formal_only: mentioned only where a formal guarantee was asked for.
        unprotective: why it protects nothing, however it is set; it is then named with what was found against it.
        learns: which of its settings `fitted` learns from public scores.
        note: what whoever uses its releases must know.
    """

    keeps: tuple[Kept, ...] = ()
    meaningful: bool = False
    wins: str = ""
    loses: str | Mapping[Kept, str] = ""
    formal_only: bool = False
    unprotective: str = ""
    learns: str = ""
    note: str = ""

    def why_lost(self, kept: Kept) -> str:
        """Why it lost where this must be kept; empty where it is not worth a mention."""
        return self.loses if isinstance(self.loses, str) else self.loses.get(kept, "")


def check_keep(wish: str) -> None:
    """Refuse a wish about what must stay that nothing can be asked for."""
    if not isinstance(wish, str) or not re.fullmatch("ranking|class|order-of-records|top-0*[1-9][0-9]{0,8}", wish):
        raise SettingError(f"keep must be ranking, class, order-of-records, or top-K such as top-3, got {wish!r}")

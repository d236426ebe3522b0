"""What a page's address asks for: a span of time, a consumer, an outcome, an entity. Read, checked and written again.

Nothing that was sent is repeated, and no filter takes an entity's id: that would then be in an address.
"""

from __future__ import annotations

import dataclasses
import datetime
import re
from collections.abc import Iterable
from urllib.parse import urlencode

from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.secrets import TAG
from privee.gateway.ledger.use import OUTCOMES, Chosen
from privee.gateway.ui.timeline import DEFAULT, MOST_DAYS, RANGES, Span, of_days, up_to_now

REFRESH = "30"
LAST_DAY = datetime.date(9998, 12, 31)


@dataclasses.dataclass(frozen=True)
class Filters:
    """As they stand in an address; "" is none. Days, `from` and `to` there, go before a range.

    Attributes:
        range: the name of one of `RANGES`.
        first, last: days such as 2026-11-16.
        consumer: the id of an API key.
        outcome: released, refused, or refused-variants, which is part of refused.
        entity: a tag.
        refresh: seconds after which the page loads itself again.
    """

    range: str = ""
    first: str = ""
    last: str = ""
    consumer: str = ""
    outcome: str = ""
    entity: str = ""
    refresh: str = ""

    def span(self, now: float) -> Span:
        """The stretch of time; until today, if there is no last day."""
        if not self.first:
            return up_to_now(RANGES[self.range] if self.range else DEFAULT, now)
        today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
        first = datetime.date.fromisoformat(self.first)
        last = datetime.date.fromisoformat(self.last) if self.last else max(first, today)
        if not first <= last or (last - first).days >= MOST_DAYS:
            raise _denied(f"from must not be after to, and a span has {MOST_DAYS:,} days at most")
        return of_days(first, last)

    def chosen(self, span: Span) -> Chosen:
        """The requests that are meant."""
        outcome = next((one for one in OUTCOMES if one == self.outcome), None)
        return Chosen(span.since, span.until, self.consumer or None, outcome)

    def link(self, path: str, **changes: str) -> str:
        """An address with the same filters but these.

        Example:
            >>> Filters(range="7d", consumer="3f0a9c2e").link("/ui", range="30d", outcome="refused")
            '/ui?range=30d&consumer=3f0a9c2e&outcome=refused'
        """
        values = dataclasses.asdict(self) | changes
        query = urlencode({NAMES[name]: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path


NAMES = {field.name: field.name for field in dataclasses.fields(Filters)} | {"first": "from", "last": "to"}
"""Of the fields in an address."""
_DAY = r"\d{4}-\d{2}-\d{2}"
_RULES = {
    "range": ("|".join(RANGES), f"range must be one of {', '.join(RANGES)}"),
    "first": (_DAY, "from must be a day such as 2026-11-16"),
    "last": (_DAY, "to must be a day such as 2026-11-16"),
    "consumer": (r"[0-9a-f]{8}", "consumer must be the id of an API key, 8 hexadecimal digits"),
    "outcome": ("|".join(OUTCOMES), f"outcome must be {', '.join(OUTCOMES[:-1])} or {OUTCOMES[-1]}"),
    "entity": (
        rf"[0-9a-f]{{{TAG}}}",
        f"entity must be a tag, {TAG} hexadecimal digits; an id is looked up with the form, so that no address has it",
    ),
    "refresh": (REFRESH, f"refresh must be {REFRESH}"),
}


def read_filters(asked: Iterable[tuple[str, str]]) -> Filters:
    """From the names and values of an address; what a form sends empty is no filter."""
    fields, found = {word: name for name, word in NAMES.items()}, dict[str, str]()
    for word, value in asked:
        if word not in fields or fields[word] in found:
            raise _denied(f"an address holds each of these once at most: {', '.join(fields)}")
        found[fields[word]] = value.strip()
    for name, value in found.items():
        pattern, words = _RULES[name]
        if value and not (re.fullmatch(pattern, value, re.ASCII) and (pattern != _DAY or _is_day(value))):
            raise _denied(words)
    if found.get("last") and not found.get("first"):
        raise _denied("to needs a first day: give from as well")
    return Filters(**found)


def _is_day(text: str) -> bool:
    try:
        return datetime.date(1970, 1, 1) <= datetime.date.fromisoformat(text) <= LAST_DAY
    except ValueError:
        return False


def _denied(words: str) -> DeniedError:
    return DeniedError(400, "bad-request", f"{words[0].upper()}{words[1:]}.")

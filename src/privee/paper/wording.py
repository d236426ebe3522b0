"""Figures and cells of the report as people write them."""

from __future__ import annotations

from typing import Any

from privee.paper.outcomes import Account, Value

ROUNDING = 1e-12
AGREES = {True: "yes", False: "no", None: "nothing printed"}


def number(value: Value | None) -> str:
    """Three digits; a dash where there is nothing.

    Example:
        >>> [number(Value(value=v)) for v in (0.0633, 18.224, 20543.0, 1.2e-7, 0.0)], number(None)
        (['0.0633', '18.2', '20,543', '1.2e-07', '0'], '-')
    """
    if value is None:
        return "-"
    return f"{value.value:,.0f}" if abs(value.value) >= 1000 else f"{value.value:.3g}"


def with_band(value: Value | None) -> str:
    """The figure and how far its band reaches: to both sides alike, or its two ends.

    Example:
        >>> with_band(Value(value=2.0, low=1.5, high=2.5)), with_band(Value(value=2.0, low=1.9, high=4.0))
        ('2 ± 0.5', '2 (1.9 to 4)')
    """
    if value is None or value.low is None or value.high is None:
        return number(value)
    above, below = value.high - value.value, value.value - value.low
    if max(above, below) <= ROUNDING * abs(value.value):
        return number(value)
    middle = Value(value=0.0 if abs(value.value) <= ROUNDING * above else value.value)
    if abs(above - below) <= 1e-6 * max(above, below):
        return f"{number(middle)} ± {f'{above:.2g}' if above < 100 else f'{above:,.0f}'}"
    return f"{number(middle)} ({value.low:.3g} to {value.high:.3g})"


def plain_value(value: Any) -> str:
    """What a row is about, as text."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def cell(text: str) -> str:
    """Text that cannot break a table."""
    return " ".join(str(text).replace("|", "\\|").split())


def verdict(account: Account | None) -> str:
    """Does it agree, in one or two words."""
    return "not run here" if account is None else AGREES[account.agrees]


def sentence(text: str) -> str:
    """With a full stop, if it has none."""
    return text if not text or text[-1] in ".!?" else f"{text}."

"""Numbers and names as people write them."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup, escape

from privee.audit.results import SMALLEST_SHOWN, Estimate, short_number

NO_BREAK, MINUS = "\u00a0", "\u2212"


def number(value: float | None) -> str:
    """A measurement in plain decimals, never in powers of ten.

    Example:
        >>> [number(value) for value in (0.00071, 0.0, 18.61, 5.1, 20543.0, -0.25, None)]
        ['0.0007', '0', '18.6', '5.100', '20,543', '−0.250', 'not measured']
    """
    if value is None or math.isnan(value):
        return "not measured"
    if math.isinf(value):
        return "infinite"
    if value < 0:
        return MINUS + number(-value)
    return f"{value:,.0f}" if value >= 1000 else together(short_number(value))


def ratio(value: float | None) -> str:
    """A guess-normalised error: three decimals are plenty.

    Example:
        >>> [ratio(value) for value in (0.0441, 1.0, 3.354, 27.51, 0.0)]
        ['0.044', '1.000', '3.354', '27.5', '0']
    """
    if value is not None and 0 < value < 0.001:
        return together("< 0.001")
    if value is not None and 0 < value < 10:
        return f"{value:.3f}"
    return number(value)


def two_decimals(value: float | None) -> str:
    """A measure between 0 and 1, as it is said aloud.

    Example:
        >>> [two_decimals(value) for value in (0.784, 1.0, -0.3, None)]
        ['0.78', '1.00', '−0.30', 'not measured']
    """
    if value is None or not math.isfinite(value):
        return "not measured"
    return f"{value:.2f}".replace("-", MINUS)


def three_decimals(value: float | None) -> str:
    """A measure between 0 and 1, for tables.

    Example:
        >>> [three_decimals(value) for value in (0.7843, 1.0, None)]
        ['0.784', '1.000', '-']
    """
    return "-" if value is None or not math.isfinite(value) else f"{value:.3f}".replace("-", MINUS)


def of_hundred(share: float) -> str:
    """A share as so many in a hundred; only what is exactly all reads 100.

    Example:
        >>> [of_hundred(share) for share in (1.0, 0.998, 0.94, 0.001)]
        ['100', 'more than 99', '94', 'fewer than 1']
    """
    if 0.99 < share < 1:
        return "more than 99"
    return "fewer than 1" if 0 < share < 0.01 else f"{100 * share:.0f}"


def together(text: str) -> str:
    """Keep signs and units on the line of their number."""
    return re.sub(r"(?<=\d) (?=%)|(?<=[<>]) (?=\d)", NO_BREAK, text)


def percent(share: float | None) -> str:
    """One decimal at most; only what is exactly all or nothing reads 100 % or 0 %.

    Example:
        >>> [percent(share).replace(NO_BREAK, " ") for share in (1.0, 0.99999, 0.956, 0.5, 1e-5, 0.0, -0.02)]
        ['100 %', '> 99.9 %', '95.6 %', '50 %', '< 0.1 %', '0 %', '−2 %']
    """
    if share is None or not math.isfinite(share):
        return "not measured"
    if share < 0:
        return MINUS + percent(-share) if share <= -0.001 else together("0 %")
    if 0 < share < 0.001:
        return together("< 0.1 %")
    if 0.999 < share < 1:
        return together("> 99.9 %")
    return together(f"{100 * share:.1f}".removesuffix(".0") + " %")


def duration(seconds: float) -> str:
    """Seconds in a unit that fits."""
    size, unit = next((pair for pair in ((1.0, "s"), (1e-3, "ms")) if seconds >= pair[0]), (1e-6, "µs"))
    return together(f"{seconds / size:.3g} {unit}")


def interval(estimate: Estimate) -> str:
    """The 95 % interval in words, or why there is none."""
    if estimate.low is None or estimate.high is None:
        return "one seed, so no interval" if estimate.seeds == 1 else "no interval"
    if estimate.high < SMALLEST_SHOWN:
        return together(f"95 % interval below {SMALLEST_SHOWN:.4f}")
    return together(f"95 % interval {number(estimate.low)} to {number(estimate.high)}")


def counted(count: int, noun: str) -> str:
    """A count with its noun.

    Example:
        >>> counted(1, "column"), counted(1200, "record")
        ('1 column', '1,200 records')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def grouped(names: Iterable[str]) -> list[str]:
    """Attacks that are named once for each kind of attacker, named once.

    Example:
        >>> grouped(["grna-paper (adaptive)", "grna-paper (naive)", "equation-solving (naive)"])
        ['grna-paper (adaptive and naive)', 'equation-solving (naive)']
    """
    found: dict[str, list[str]] = {}
    for name in names:
        attack, _, attacker = name.removesuffix(")").rpartition(" (") if name.endswith(")") else (name, "", "")
        found.setdefault(attack or name, []).append(attacker)
    return [f"{attack} ({' and '.join(who)})" if any(who) else attack for attack, who in found.items()]


def label(name: str) -> str:
    """A name that others gave, on one line and without what steers the direction of text.

    Example:
        >>> label(" two  words"), label("")
        ('two words', '(no name)')
    """
    line = " ".join(name.split())
    return "".join(letter for letter in line if unicodedata.category(letter) not in ("Cc", "Cf")) or "(no name)"


def breakable(spec: str) -> Markup:
    """A spec that may be broken after its punctuation.

    Example:
        >>> breakable("privee-u:rho=0.1")
        Markup('privee-u:<wbr>rho=0.1')
    """
    return Markup("<wbr>").join(escape(part) for part in re.split(r"(?<=[:,])(?=.)", spec))


def plain(value: Any) -> str:
    """A setting as one line, in words where there are some: what nobody chose is `default`.

    Example:
        >>> plain(None), plain(True), plain([0, 1]), plain({"certainty": 0.9, "number": 0.05})
        ('default', 'yes', '0, 1', 'certainty 0.9, number 0.05')
    """
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, bool):
        return {None: "default", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, list | tuple) and all(isinstance(item, str | int | float) for item in value):
        return ", ".join(plain(item) for item in value) or "none"
    if isinstance(value, dict) and value and all(isinstance(item, str | int | float) for item in value.values()):
        return ", ".join(f"{heading(key).lower()} {plain(item)}" for key, item in value.items())
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def heading(key: str) -> str:
    """A key as a heading.

    Example:
        >>> heading("auxiliary_rows")
        'Auxiliary rows'
    """
    text = str(key).replace("_", " ")
    return text[:1].upper() + text[1:]

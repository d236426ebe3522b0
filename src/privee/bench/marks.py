"""What marks say of a line: that it is not finished, or not of today."""

from __future__ import annotations

from collections.abc import Sequence

from privee.bench.summary import Line

MISSING, OLDER = "*", "†"
WORDS = {
    MISSING: "not measured in all three ways of asking, or not by every attack yet; one of fewer models than another "
    "does not compare with it.",
    OLDER: "in part measured by an earlier version, or with other settings.",
}


def marks(*, missing: bool, older: bool) -> str:
    """What stands after a name."""
    return f"{f' {MISSING}' if missing else ''}{f' {OLDER}' if older else ''}"


def marks_of(line: Line) -> str:
    """The same of a line over all models."""
    return marks(missing=not line.complete, older=line.older)


def legend(lines: Sequence[Line]) -> list[str]:
    """What each mark means that stands at one of these lines."""
    shown = "".join(map(marks_of, lines))
    return [f"{mark} {words}" for mark, words in WORDS.items() if mark in shown]

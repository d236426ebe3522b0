"""How much a file may hold once it is read: a few kilobytes can stand for gigabytes, and are refused beforehand."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from privee.errors import PriveeError, SettingError

VARIABLE = "PRIVEE_MAX_BYTES"
CGROUP = Path("/sys/fs/cgroup/memory.max")
MOST_COLUMNS = 100_000
MOST_TIMES = 1000
UNKNOWN = 16 << 30


def most_bytes() -> int:
    """What PRIVEE_MAX_BYTES says, else half of the memory that this process may use."""
    given = os.environ.get(VARIABLE)
    if given is not None:
        if not (given.isascii() and given.isdigit() and int(given[:20])):
            raise SettingError(f"{VARIABLE} must be a whole number of bytes, such as 8000000000")
        return int(given)
    return min(_memory(), default=UNKNOWN) // 2


def _memory() -> Iterator[int]:
    """What the machine has, and what this process and its group may use, as far as that can be known here."""
    with contextlib.suppress(AttributeError, ValueError, OSError):
        yield os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError):
        yield int(CGROUP.read_text())
    with contextlib.suppress(ImportError):
        import resource

        for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA):
            soft, _ = resource.getrlimit(kind)
            if soft != resource.RLIM_INFINITY:
                yield soft


def refuse_more(size: int, name: str, what: str = "takes") -> None:
    """Refuse what would not fit."""
    most = most_bytes()
    if size > most:
        raise PriveeError(
            f"{name} {what} some {size / 1e9:,.1f} GB once it is read, and {most / 1e9:,.1f} are the most; "
            f"if it is what it should be, set {VARIABLE}"
        )


def refuse_absurd(size: int, packed: int, name: str) -> None:
    """Refuse a file that is read piece by piece and would never end: much, and made of next to nothing."""
    if size > MOST_TIMES * packed:
        refuse_more(size, name, f"of {packed:,} bytes stands for")


def refuse_wide(columns: int, name: str) -> None:
    """Refuse more columns than a table can have."""
    if columns > MOST_COLUMNS:
        raise PriveeError(f"{name} has {columns:,} columns or more; {MOST_COLUMNS:,} are the most")

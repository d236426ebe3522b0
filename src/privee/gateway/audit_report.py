"""The report of `privee audit`, read once at the start, for auditors of the gateway; and its verdicts by defense."""

from __future__ import annotations

import dataclasses
import html
import re
from pathlib import Path
from typing import Any, NamedTuple

from privee.atomic import read_json
from privee.errors import PriveeError, SettingError
from privee.registry import parse_settings

REPORT, RESULTS = "report.html", "audit.json"
MOST_BYTES = 32 << 20
_HEAD = 4096
_TITLE = re.compile(r"<title>Privacy audit\b")
_DATE = re.compile(r'<p class="kind">[^<]* · ([^<]{1,64})</p>')


class Verdict(NamedTuple):
    """What an audit says about one defense of one model."""

    subject: str
    defense: str
    grade: str
    verdict: str


@dataclasses.dataclass(frozen=True)
class AuditReport:
    """An audit as it was when the gateway started.

    Attributes:
        page: the report as it is.
        date: when the audit was made, in its own words; "" if it does not say.
        verdicts: on all defenses; None if there is no audit.json beside the report.
    """

    page: bytes = dataclasses.field(repr=False)
    date: str
    verdicts: tuple[Verdict, ...] | None

    def verdicts_on(self, spec: str) -> tuple[Verdict, ...]:
        """On one defense with the same settings, one for each model that was audited."""
        wanted = _parsed(spec)
        return tuple(one for one in self.verdicts or () if _parsed(one.defense) == wanted)


def read_audit(place: Path) -> AuditReport:
    """The report at this place, a file or the folder it is in."""
    path = place / REPORT if place.is_dir() else place
    text = _read(path)
    if not _TITLE.search(text[:_HEAD]):
        raise SettingError(f"{path} is no report of privee audit: give its folder, or the {REPORT} in it")
    date = _DATE.search(text)
    results = path.with_name(RESULTS)
    verdicts = _verdicts(results) if results.exists() else None
    return AuditReport(text.encode(), html.unescape(date[1]) if date else "", verdicts)


def _read(path: Path) -> str:
    try:
        if not path.is_file():
            raise SettingError(f"there is no audit report at {path}: privee audit writes one")
        if path.stat().st_size > MOST_BYTES:
            raise SettingError(f"{path} has more than {MOST_BYTES >> 20} MiB, which no report of privee audit has")
        return path.read_bytes().decode()
    except OSError as error:
        raise PriveeError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingError(f"{path} is no report of privee audit: it is not text") from None


def _verdicts(path: Path) -> tuple[Verdict, ...]:
    """Of its cards the four texts that are needed, whatever else it holds; a card without them is left out."""
    found: Any = read_json(path)
    cards = found.get("cards") if isinstance(found, dict) else None
    if not isinstance(cards, list):
        raise SettingError(f"{path}, beside the report, is not what privee audit writes: it has no cards")
    found_texts = ([card.get(name) for name in Verdict._fields] for card in cards if isinstance(card, dict))
    return tuple(Verdict(*map(str, texts)) for texts in found_texts if all(isinstance(text, str) for text in texts))


def _parsed(spec: str) -> tuple[str, dict[str, Any]]:
    """Name and settings, so that epsilon=1 and epsilon=1.0 are the same."""
    name, _, text = spec.partition(":")
    try:
        return name, parse_settings(text)
    except SettingError:
        return spec, {}

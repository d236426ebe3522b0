"""Two audits side by side: which grades got better or worse, what is new or gone, and whether they may be compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from privee.audit.grades import GRADES, grade_of
from privee.audit.results import AskedAgain, Audit, Card, SubjectInfo, WithoutEnd

Direction = Literal["better", "worse", "other"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Change:
    """A grade that is not what it was: of a column under a defense, or of a defense as a whole (`column` is "").

    `asked` is "" for whoever asks once and honestly, else "5 questions" or "without end".
    """

    defense: str
    column: str
    party: str
    before: str
    now: str
    asked: str = ""

    @property
    def direction(self) -> Direction:
        """Which way; "other" if a word is no grade here."""
        order = list(GRADES)
        if self.before not in order or self.now not in order:
            return "other"
        return "better" if order.index(self.now) > order.index(self.before) else "worse"


@dataclasses.dataclass(frozen=True, kw_only=True)
class SubjectComparison:
    """One model in two audits.

    Attributes:
        differ: what it was made of that is not the same, by the fingerprints ("data", "model").
        unknown: what cannot be told, since one of the audits has no fingerprint of it.
        by_column: False if one of the audits did not look at columns one by one; then means are compared.
        new_defenses, gone_defenses, new_columns, gone_columns: what only one of them tried.
        changes: defenses as a whole first, then columns, in the order of the later audit.
    """

    subject: str
    differ: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    by_column: bool = True
    new_defenses: tuple[str, ...] = ()
    gone_defenses: tuple[str, ...] = ()
    new_columns: tuple[str, ...] = ()
    gone_columns: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    def going(self, direction: Direction) -> tuple[Change, ...]:
        """The changes that go this way."""
        return tuple(change for change in self.changes if change.direction == direction)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Comparison:
    """A later audit against an earlier one.

    Attributes:
        date, version: of the earlier one, "" if it does not say.
        settings: those of the grid that differ, by name: before and now.
    """

    date: str
    version: str
    new_subjects: tuple[str, ...]
    gone_subjects: tuple[str, ...]
    settings: Mapping[str, tuple[Any, Any]]
    subjects: tuple[SubjectComparison, ...]

    @property
    def differ(self) -> tuple[str, ...]:
        """What any model was made of that is not the same."""
        return tuple(dict.fromkeys(name for one in self.subjects for name in one.differ))

    def count(self, direction: Direction) -> int:
        """How many grades go this way."""
        return sum(len(one.going(direction)) for one in self.subjects)


def compare_audits(before: Audit, now: Audit) -> Comparison:
    """What changed from one audit to the next; models are the same if they have the same name."""
    old, new = ({info.name: info for info in audit.subjects} for audit in (before, now))
    return Comparison(
        date=str(before.about.get("date", "")),
        version=_version(before.about),
        new_subjects=_only(new, old),
        gone_subjects=_only(old, new),
        settings=_settings(before.about.get("grid"), now.about.get("grid")),
        subjects=tuple(_subject(before, now, old[name], info) for name, info in new.items() if name in old),
    )


def same_results(one: Audit, other: Audit) -> bool:
    """Did both find the same, whenever and however fast?"""
    return (one.subjects, one.cards, one.curves) == (other.subjects, other.cards, other.curves)


def _subject(before: Audit, now: Audit, old: SubjectInfo, new: SubjectInfo) -> SubjectComparison:
    earlier, later = (
        {card.defense: card for card in audit.cards if card.subject == new.name} for audit in (before, now)
    )
    old_columns, new_columns = _columns(earlier.values()), _columns(later.values())
    by_column = bool(old_columns) and bool(new_columns)
    marks = dict.fromkeys((*old.fingerprints, *new.fingerprints))
    both = [name for name in marks if name in old.fingerprints and name in new.fingerprints]
    return SubjectComparison(
        subject=new.name,
        differ=tuple(name for name in both if old.fingerprints[name] != new.fingerprints[name]),
        unknown=tuple(name for name in marks if name not in both) or (() if marks else ("data", "model")),
        by_column=by_column,
        new_defenses=_only(later, earlier),
        gone_defenses=_only(earlier, later),
        new_columns=_only(new_columns, old_columns) if by_column else (),
        gone_columns=_only(old_columns, new_columns) if by_column else (),
        changes=tuple(_changes(earlier, later, by_column=by_column)),
    )


def _changes(earlier: Mapping[str, Card], later: Mapping[str, Card], *, by_column: bool) -> Iterator[Change]:
    both = [
        (new.defense, asked, before, now)
        for new in later.values()
        if new.defense in earlier
        for asked, before, now in _ways(earlier[new.defense], new)
    ]
    for defense, asked, before, now in both:
        grades = (before.grade, now.grade)
        if isinstance(before, Card) and isinstance(now, Card) and not by_column:
            grades = (_mean_grade(before), _mean_grade(now))
        if grades[0] != grades[1]:
            yield Change(defense=defense, column="", party="", before=grades[0], now=grades[1], asked=asked)
    for defense, asked, before, now in both:
        known = {(column.party, column.name): column.grade for column in before.columns}
        for column in now.columns:
            same = known.get((column.party, column.name), column.grade)
            if same != column.grade:
                yield Change(
                    defense=defense, column=column.name, party=column.party, before=same, now=column.grade, asked=asked
                )


Graded = Card | AskedAgain | WithoutEnd


def _ways(before: Card, now: Card) -> Iterator[tuple[str, Graded, Graded]]:
    """The ways of asking that both audits tried: once and honestly, so many times, without end."""
    yield "", before, now
    known = {one.questions: one for one in before.asked_again}
    for one in now.asked_again:
        if one.questions in known:
            yield f"{one.questions} questions", known[one.questions], one
    if before.without_end is not None and now.without_end is not None:
        yield "without end", before.without_end, now.without_end


def _mean_grade(card: Card) -> str:
    """Earlier versions had no other grade than the mean's."""
    return card.mean_grade or grade_of(card.guess_normalised)


def _columns(cards: Iterable[Card]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(f"{column.name} ({column.party})" for card in cards for column in card.columns))


def _only(these: Iterable[str], those: Iterable[str]) -> tuple[str, ...]:
    away = set(those)
    return tuple(name for name in these if name not in away)


def _settings(before: Any, now: Any) -> dict[str, tuple[Any, Any]]:
    """Tuples and lists are the same here: files know lists alone."""
    if not isinstance(before, Mapping) or not isinstance(now, Mapping):
        return {}
    pairs = {name: (_listed(before[name]), _listed(now[name])) for name in now if name in before}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _version(about: Mapping[str, Any]) -> str:
    versions = about.get("versions")
    found = about.get("privee", versions.get("privee", "") if isinstance(versions, Mapping) else "")
    return str(found)

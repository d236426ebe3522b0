"""From findings to scorecards: the smallest error counts, with an interval over seeds, in plain words."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from privee.attacks import attack as make_attack
from privee.attacks.metrics import attainable_protection
from privee.audit import sealed_words
from privee.audit.exposure.findings import USUAL_BOUND, Attacker, Bound, ColumnExposure, PeopleExposure
from privee.audit.exposure.judging import Attempt, judge, pooled
from privee.audit.grades import GRADES, grade_of
from privee.audit.results import AskedAgain, Best, Card, Estimate, Finding, Handout, SubjectInfo, WithoutEnd
from privee.audit.task import MEAN_GUESS
from privee.defenses import NoDefense, RankingOnly
from privee.defenses import defense as make_defense
from privee.theory import half_width


def estimate(values: Sequence[float]) -> Estimate:
    """Mean over seeds with a 95 % t interval."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return Estimate(mean=mean)
    half = float(half_width(values))
    return Estimate(mean=mean, low=max(0.0, mean - half), high=mean + half, seeds=len(values))


def make_cards(
    subjects: Iterable[SubjectInfo],
    findings: Sequence[Finding],
    handouts: Sequence[Handout],
    bound: Bound = USUAL_BOUND,
) -> tuple[Card, ...]:
    """One card per subject and defense; `bound` is what counted as known."""
    cards = []
    for subject in subjects:
        mine = [finding for finding in findings if finding.subject == subject.name]
        specs = list(dict.fromkeys(h.defense for h in handouts if h.subject == subject.name))
        headlines = {spec: _headline(mine, spec) for spec in specs}
        moved = {spec: [h for h in handouts if (h.subject, h.defense) == (subject.name, spec)] for spec in specs}
        cards += [_card(subject, spec, mine, moved[spec], headlines, bound) for spec in specs]
    return tuple(cards)


def _card(
    subject: SubjectInfo,
    spec: str,
    mine: Sequence[Finding],
    moved: Sequence[Handout],
    headlines: dict[str, Best],
    bound: Bound,
) -> Card:
    tried = [finding for finding in mine if finding.defense == spec]
    here = [finding for finding in tried if not finding.questions and not finding.without_end]
    guess, headline = _best(mine, "guess"), headlines[spec]
    assert guess is not None  # noqa: S101 (every subject has guesses)
    normalised = _normalised(here, headline, guess)
    columns = judge(subject.columns, _attempts(here))
    guarantee = make_defense(spec).guarantee(subject.classes)
    accuracies = [h.accuracy for h in moved if h.accuracy is not None]
    mean_grade = grade_of(normalised)
    grade = columns[0].grade if columns else mean_grade
    asked = tuple(_asked_again(subject, tried))
    return Card(
        subject=subject.name,
        defense=spec,
        guarantee=guarantee.proven,
        not_covered=guarantee.not_covered,
        naive=_best(here, "naive"),
        adaptive=_best(here, "adaptive"),
        guess=guess,
        mean_guess=estimate([f.feature_mse for f in mine if f.attack == MEAN_GUESS and f.feature_mse is not None]),
        headline=headline,
        guess_normalised=normalised,
        attainable_protection=_protection(headline, headlines),
        ranking_kept=float(np.mean([h.ranking_kept for h in moved])),
        label_kept=float(np.mean([h.label_kept for h in moved])),
        mean_l1_moved=float(np.mean([h.mean_l1_moved for h in moved])),
        top_score_error=float(np.mean([h.top_score_error for h in moved])),
        accuracy=float(np.mean(accuracies)) if accuracies else None,
        failed=_failed(here, mine),
        skipped=_skipped([finding for finding in tried if not finding.questions]),
        grade=grade,
        verdict=verdict(grade, columns[0]) if columns else mean_verdict(grade, headline, guess),
        mean_grade=mean_grade,
        columns=columns,
        people=_people(here, bound),
        utility=next((h.utility for h in moved if h.utility is not None), None),
        order_between=next((h.order_between for h in moved if h.order_between is not None), None),
        seconds_per_record=sum(h.seconds for h in moved) / max(1, sum(h.rows for h in moved)),
        released_records=sum(h.rows for h in moved),
        asked_again=asked,
        without_end=_without_end(subject, tried, asked[-1].columns if asked else columns),
    )


def _asked_again(subject: SubjectInfo, tried: Sequence[Finding]) -> Iterator[AskedAgain]:
    """For each number of questions; who may ask so often may also ask less, or honestly."""
    most = {count for finding in tried if (count := finding.questions) and finding.guess_normalised is not None}
    for count in sorted(most):
        allowed = [finding for finding in tried if finding.questions <= count and not finding.without_end]
        asked = [finding for finding in allowed if finding.questions and finding.guess_normalised is not None]
        columns = judge(subject.columns, _attempts(allowed))
        best = min(asked, key=lambda finding: finding.guess_normalised or 0.0)
        left = best.guess_normalised or 0.0
        grade = columns[0].grade if columns else grade_of(left)
        yield AskedAgain(
            questions=count,
            grade=grade,
            verdict=_asked_verdict(count, grade, columns[0] if columns else None, left),
            guess_normalised=left,
            after=max((finding.after for finding in asked), key=len),
            columns=columns,
            records=best.records,
        )


def _without_end(subject: SubjectInfo, tried: Sequence[Finding], asked: Sequence[ColumnExposure]) -> WithoutEnd | None:
    """By the code itself, or by what other attacks were told if that is worse: who has the code may ask as well."""
    given = [finding for finding in tried if finding.without_end and finding.guess_normalised is not None]
    if not given:
        return None
    by_code = judge(subject.columns, _attempts(given))
    columns = min((by_code, tuple(asked)), key=_worst_grade)  # of equals, by the code
    best = min(given, key=lambda finding: finding.guess_normalised or 0.0)
    left = best.guess_normalised or 0.0
    grade = columns[0].grade if columns else grade_of(left)
    return WithoutEnd(
        grade=grade,
        verdict=sealed_words.verdict(grade, columns[0] if columns else None),
        guess_normalised=left,
        columns=columns,
        records=best.records,
        proven=sealed_words.proven(subject.sealed),
        not_covered=sealed_words.not_covered(subject.sealed),
    )


def _worst_grade(columns: Sequence[ColumnExposure]) -> int:
    """0 for the worst grade there is, more for better ones and for none."""
    return min((list(GRADES).index(column.grade) for column in columns), default=len(GRADES))


def _asked_verdict(questions: int, grade: str, worst: ColumnExposure | None, left: float) -> str:
    """For an auditor, about the attacker who chooses what it asks."""
    often = "once" if questions == 1 else f"{questions} times"
    who = f"who asks {often} about a record, with own columns of its choice"
    if worst is None or not worst.told:
        return f"{GRADES[grade].verdict}, also to one {who}."
    told = f"AUC {worst.auc:.2f}" if worst.by != "error" and worst.auc is not None else f"{worst.remaining:.0%} left"
    return (
        f"{GRADES[grade].verdict} to one {who}: {worst.name} ({worst.party}), {told}; over all columns {left:.0%} left."
    )


def verdict(grade: str, worst: ColumnExposure) -> str:
    """What an auditor can read out, about the column that is told best."""
    told, whose = GRADES[grade].verdict, f"{worst.name} ({worst.party})"
    if grade == "guarded":
        lost = "" if worst.settled else "; too few records to be sure"
        return f"{told}: of no private column was more told than by a guess that needs no release{lost}."
    who = "an attacker who knows this defense" if worst.attacker == "adaptive" else "even an attacker who ignores it"
    if worst.by != "error" and worst.auc is not None and worst.guess_auc is not None:
        return (
            f"{told}: who has {worst.name} {_asked(worst)} ({worst.party}) is told with AUC {worst.auc:.2f} by {who} "
            f"({worst.attack}); a guess without the release has {worst.guess_auc:.2f}.{_capped(worst)}"
        )
    return (
        f"{told}: {who} misses {whose} by {worst.remaining:.0%} of a guess's error "
        f"({worst.attack}); to within {_share(math.sqrt(worst.error))} of its range (root mean square).{_capped(worst)}"
    )


def _capped(worst: ColumnExposure) -> str:
    """Why the grade is worse than what remains would say."""
    if worst.capped_auc is None or worst.capped_by == worst.by:
        return ""
    asked = f"= {worst.capped_by}" if worst.kind == "category" else worst.capped_by
    return f" Who has {worst.name} {asked} may be told with an AUC above 0.9 ({worst.capped_auc:.2f} here)."


def _asked(worst: ColumnExposure) -> str:
    """The most telling question in a sentence."""
    return f"= {worst.by}" if worst.kind == "category" else worst.by


def mean_verdict(grade: str, headline: Best, guess: Best) -> str:
    """The same over all columns together, where no single one could be measured."""
    told = GRADES[grade].verdict
    reach, blind = (_share(math.sqrt(best.error.mean)) for best in (headline, guess))
    if headline.attacker == "guess":
        return (
            f"{told}: no attack tried did better than the {guess.attack}, which needs no release and "
            f"comes to within {blind} of each column's range (root mean square)."
        )
    who = "an attacker who knows this defense" if headline.attacker == "adaptive" else "even an attacker who ignores it"
    return (
        f"{told}: {who} recovers the private columns to within {reach} of their range (root mean square, "
        f"{headline.attack}); without the release, a guess comes to within {blind}."
    )


def _share(value: float) -> str:
    return "0.1 % or less" if value <= 0.001 else f"{value:.1%}".replace("%", " %")


def _attempts(here: Sequence[Finding]) -> list[Attempt]:
    """Every attack on this defense, by column, its seeds together."""
    gathered: dict[tuple[str, Attacker], list[Finding]] = defaultdict(list)
    for finding in here:
        if finding.columns:
            gathered[finding.attack, finding.attacker].append(finding)
    return [
        pooled(attack, who, getattr(make_attack(attack), "own_columns", True) is False, [f.columns for f in some])
        for (attack, who), some in gathered.items()
    ]


def _people(here: Sequence[Finding], bound: Bound) -> PeopleExposure | None:
    """By the attack that knows most beyond the guess, of those that looked at most records."""
    told = [(finding, finding.people) for finding in here if finding.people is not None]
    most = max((finding.records for finding, _ in told), default=0)
    many = [(finding, people) for finding, people in told if finding.records == most]
    if not many:
        return None
    finding, people = max(many, key=lambda pair: pair[1].known - pair[1].guess_known)
    return PeopleExposure(bound=bound, records=finding.records, attack=finding.attack, **dataclasses.asdict(people))


def _normalised(here: Sequence[Finding], headline: Best, guess: Best) -> float:
    """The smallest over attacks, each against the best guess on the records it attacked; 1 at most."""
    shares = defaultdict(list)
    for finding in here:
        if finding.guess_normalised is not None:
            shares[finding.attack, finding.attacker].append(finding.guess_normalised)
    # An attack with fewer seeds than the guess attacked other records: its own shares say what it is worth.
    alike = headline.error.seeds == guess.error.seeds or not shares
    own = headline.error.mean / guess.error.mean if guess.error.mean > 0 and alike else 1.0
    return min([own, *(float(np.mean(some)) for some in shares.values())])


def _headline(mine: Sequence[Finding], spec: str) -> Best:
    """The attacker chooses among all attacks, knowing or ignoring the defense, and all guesses.

    Some were tried with fewer seeds than others, so each is compared by what it leaves of the best guess's error there.
    """
    here = [f for f in mine if f.defense == spec and not f.questions and not f.without_end]
    guess = _best(mine, "guess")
    found = (_best(here, "adaptive"), _best(here, "naive"), guess)  # of equals, the first
    blind = {} if guess is None else _by_seed(mine, guess.attack, "guess")

    def left(best: Best) -> float:
        seeds = _by_seed(mine if best.attacker == "guess" else here, best.attack, best.attacker)
        guessed = [blind[seed] for seed in seeds if seed in blind]
        return best.error.mean / (float(np.mean(guessed or list(blind.values()) or [1.0])) or 1.0)

    return min((best for best in found if best is not None), key=left)


def _by_seed(findings: Iterable[Finding], attack: str, who: Attacker) -> dict[int, float]:
    """The error of an attack that rebuilds whole records, or of a guess, with each seed."""
    return {
        f.seed: f.feature_mse
        for f in findings
        if (f.attack, f.attacker) == (attack, who) and f.feature_mse is not None and not f.by_column
    }


def _best(findings: Sequence[Finding], who: Attacker) -> Best | None:
    errors = {attack: es for (attack, attacker), es in _errors(findings).items() if attacker == who}
    found = [Best(attack=attack, attacker=who, error=estimate(es)) for attack, es in errors.items()]
    return min(found, key=lambda best: best.error.mean, default=None)


def _errors(findings: Iterable[Finding]) -> dict[tuple[str, str], list[float]]:
    """Errors over seeds, by attack and attacker, of those that rebuild whole records."""
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    for finding in findings:
        if finding.feature_mse is not None and not finding.by_column:
            errors[finding.attack, finding.attacker].append(finding.feature_mse)
    return errors


def _failed(here: Sequence[Finding], mine: Sequence[Finding]) -> tuple[str, ...]:
    """Attacks that lost to the column means on their records, and attacks that found nothing (with the reason)."""
    means = _by_seed(mine, MEAN_GUESS, "guess")
    tried = {(f.attack, f.attacker): _by_seed(here, f.attack, f.attacker) for f in here}
    lost = [f"{attack} ({who})" for (attack, who), errors in tried.items() if errors and _lost(errors, means)]
    broken = {f"{f.attack} ({f.attacker}): {f.reason}" for f in here if f.status == "failed" and f.feature_mse is None}
    return tuple(sorted({*lost, *broken}))


def _lost(errors: Mapping[int, float], means: Mapping[int, float]) -> bool:
    """Worse than the column means, on average over seeds."""
    blind = [means[seed] for seed in errors if seed in means] or list(means.values())
    return float(np.mean(list(errors.values()))) > float(np.mean(blind))


def _skipped(here: Sequence[Finding]) -> dict[str, str]:
    return {f"{f.attack} ({f.attacker})": f.reason for f in here if f.status == "skipped"}


def _protection(headline: Best, headlines: dict[str, Best]) -> float | None:
    """Of what any order-preserving defense could protect; needs both ends of that scale in the grid."""
    none, ranking = headlines.get(NoDefense().spec), headlines.get(RankingOnly().spec)
    if none is None or ranking is None:
        return None
    share = attainable_protection(headline.error.mean, none.error.mean, ranking.error.mean)
    return None if math.isnan(share) else share

"""A recommendation's sentences."""

from __future__ import annotations

from privee.audit.recommend.answer import Attacked, Figures, RankedOption, Wishes
from privee.audit.recommend.evidence import MOST_RELEASES, Ground
from privee.audit.recommend.rules import EPSILONS
from privee.audit.results import short_number
from privee.defenses import Defense
from privee.theory import composed_epsilon

REPEATABLE = (
    "With repeatable draws (privee.defenses.repeatable.Repeatable) the same query gets the same release and costs "
    "epsilon {:g} once; queries that differ, if only in the asking party's own columns, add up as fresh ones do."
)
LEARN = "scores that are public or the active party's own to give"


def why_chosen(defense: Defense, wishes: Wishes, *, met: bool) -> str:
    """Say why this option was chosen."""
    if not met:
        return "no setting meets all wishes; this one comes nearest"
    return "the smallest epsilon tried that meets the wishes" if wishes.magnitudes else defense.advice.wins


def would_do(epsilon: float | None, queries: int) -> str:
    """What it would take to meet the wishes."""
    if epsilon is None:
        return f"no epsilon up to {EPSILONS[-1]:g} meets all wishes"
    if queries == 1:
        return f"epsilon {epsilon:g} would do"
    total = composed_epsilon(epsilon, queries)
    return f"epsilon {epsilon:g} for each release would do, {total:g} in all ({epsilon:g} for repeats of one query)"


def over_releases(
    wishes: Wishes, chosen: RankedOption, whole_budget: tuple[Defense, Figures] | None
) -> tuple[str, ...]:
    """What several releases of a record add up to; `whole_budget` is what the total allows in a single release."""
    epsilon = chosen.epsilon or 0.0
    if epsilon == 0:
        return ("Any number of releases of a record gives away no more than one.",)
    times, total = wishes.queries, composed_epsilon(epsilon, wishes.queries)
    budget = "" if wishes.total_epsilon is None else f" (budget: {wishes.total_epsilon:g})"
    fresh = (
        f"One release of a record costs epsilon {epsilon:g}{budget}; each further fresh one adds as much."
        if times == 1
        else f"{times} fresh releases of a record cost epsilon {times} x {epsilon:g} = {total:g}{budget}."
    )
    lines = [fresh, REPEATABLE.format(epsilon)]
    if whole_budget is not None:
        defense, found = whole_budget
        lines.append(
            f"The whole budget could then go into that one release: {defense.spec} moves scores by "
            f"{short_number(found.mean_l1_moved)} on average, where the recommended one moves them by "
            f"{short_number(chosen.figures.mean_l1_moved)}."
        )
    return tuple(lines)


def how_to_use(defense: Defense, ground: Ground) -> str:
    """Say how the option is used in Python."""
    if ground.tried == "synthetic" and defense.learned_by:
        return f"{defense.learned_by}.release(scores)"
    return f'privee.defense("{defense.spec}").release(scores)'


def with_findings(why: str, found: Figures, attacked: Attacked | None) -> str:
    """Why something does not protect, with what was found."""
    moved, left = short_number(found.mean_l1_moved), short_number(found.left_after_inverse)
    told = f"{why}; moved by {moved} (L1), {left} after its public inverse"
    if attacked is None:
        return told
    error = short_number(attacked.headline.error.mean)
    return f"{told}; the best attack errs by {error}, {attacked.guess_normalised:.0%} of the best guess's error"


def notes(chosen: Defense, wishes: Wishes, ground: Ground, *, attacked: bool) -> tuple[str, ...]:
    """What else to know."""
    learns, learned, note = chosen.advice.learns, bool(chosen.learned_by), chosen.advice.note
    measured = ground.tried == "measured"
    public = f"{LEARN} (privee.{type(chosen).__name__}.fitted)"
    said = {
        "Nothing was attacked: give a run folder, --dataset or --entry to see what attacks get.": not measured,
        "No attack could run on this model, so nothing is known about what one would get.": measured and not attacked,
        "One seed gives no intervals; --seeds 3 does, and privee audit tries every attack.": measured
        and len(ground.scores) == 1,
        f"Attacks were given {MOST_RELEASES} releases of each record, not {wishes.queries}.": measured
        and wishes.queries > MOST_RELEASES,
        note: bool(note),
        f"{learns.capitalize()} were learned from synthetic scores; learn yours from {public}.": learned
        and not measured,
        f"{learns.capitalize()} were learned from rows that are not attacked; learn yours from {public}.": learned
        and measured,
        f"Scores are moved less once {learns} are learned from {public}.": bool(learns) and not learned,
    }
    return tuple(text for text, holds in said.items() if holds)

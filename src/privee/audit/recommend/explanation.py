"""A recommendation's sentences."""

from __future__ import annotations

from collections.abc import Sequence

from privee.audit.recommend.answer import Attacked, Figures, RankedOption, Wishes
from privee.audit.recommend.evidence import MOST_RELEASES, Ground
from privee.audit.recommend.limits import AUC_SHARE, Limit
from privee.audit.recommend.rules import EPSILONS
from privee.audit.results import AskedAgain, short_number
from privee.audit.sealed_words import proven
from privee.defenses import Defense
from privee.theory import composed_epsilon

REPEATABLE = (
    "With repeatable draws (privee.defenses.repeatable.Repeatable) the same query gets the same release and costs "
    "epsilon {:g} once; queries that differ, if only in the asking party's own columns, add up as fresh ones do."
)
TWO_CLASSES = "With two classes the ranking is the predicted class: to keep one is to keep the other, and no more."
RECORDS_BY_DEFAULT = (
    "With two classes records are ranked by the score, so the order between them is kept unless you say otherwise; "
    "where the predicted class is enough, --keep class gives away less."
)
CLASS_BY_DEFAULT = (
    "With two classes the order between records is kept unless you say otherwise; here the predicted class alone keeps "
    "enough of it, and --keep order-of-records keeps more."
)
SEALING_HELPS = (
    "Asked {} times with chosen columns, this release is graded {}. A sealed passive party gives away one code of a "
    "record and no more, whatever is asked: privee seal RUN --codes 8 makes such a model of this run."
)
ONE_VARIANT = (
    "Holds while nobody asks about a record with other own columns than before (the gateway's --variants 1, its "
    "default); if own columns change or can be chosen, say how often: --variants 5."
)
LEARN = "scores that are public or the active party's own to give"


def records_by_default(chosen: RankedOption, others: Sequence[RankedOption]) -> str:
    """That nobody asked for the order of records, and how much less the predicted class alone tells."""
    if chosen.defense == "label-only":
        return CLASS_BY_DEFAULT
    less = next((option.attacked for option in others if option.defense == "label-only"), None)
    if chosen.attacked is None or less is None:
        return RECORDS_BY_DEFAULT
    return f"{RECORDS_BY_DEFAULT} Here this release is graded {chosen.attacked.grade}, label-only {less.grade}."


def why_chosen(defense: Defense, wishes: Wishes, enough: Limit, *, met: bool) -> str:
    """Say why this option was chosen; `enough` is how much order between records is enough if nothing was said."""
    if not met:
        return "no setting meets all wishes; this one comes nearest"
    if wishes.between_records and wishes.min_auc is None:
        share = f"an AUC of {short_number(enough.bound)}, {AUC_SHARE:.0%} of what the scores' has above 0.5"
        tau = f"a Kendall's tau of {enough.bound:g} between scores and release, as no labels tell what the order is for"
        kept = share if enough.quantity == "auc" else tau
        return (
            f"{'the smallest epsilon tried' if defense.advice.meaningful else 'the safest there is'} that keeps {kept}"
        )
    tried = wishes.magnitudes or (wishes.min_auc is not None and defense.advice.meaningful)
    return "the smallest epsilon tried that meets the wishes" if tried else defense.advice.wins


def told_by_variants(variants: int, again: AskedAgain | None) -> str:
    """Why a limit of one variant is the answer, whatever is released."""
    found = (
        ""
        if again is None
        else f" (here: {again.grade}, {min(1.0, again.guess_normalised):.0%} of a guess's error left)"
    )
    return (
        f"a record that may be asked about with {variants} different own columns gives its private ones away through "
        f"any exact order{found}; let it be asked with one (the gateway's --variants 1), or keep order-of-records"
    )


def on_seals(chosen: RankedOption, ground: Ground) -> tuple[str, ...]:
    """What seals make needless; or, without any, that they would stop what asking again tells."""
    if ground.sealed:
        none = "; the defense may be none" if ground.all_sealed else ""
        ever = None if chosen.attacked is None else chosen.attacked.without_end
        graded = "" if ever is None else f" Asked without end, any release of it is graded {ever.grade} at worst."
        return (
            f"Sealed: {proven(ground.sealed)} What sealed parties hold needs no budget of releases or variants{none}."
            f"{graded}",
        )
    again = None if chosen.attacked is None else chosen.attacked.asked_again
    if again is None or again.grade not in ("open", "weak"):
        return ()
    return (SEALING_HELPS.format(again.questions, again.grade),)


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
        return ("Any number of releases for the same question gives away no more than one.",)
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
            f"The whole budget could then go into that one release: {defense.spec} {_does(found, wishes)}, where the "
            f"recommended one {_does(chosen.figures, wishes)}."
        )
    return tuple(lines)


def _does(found: Figures, wishes: Wishes) -> str:
    """What matters most of it."""
    if not wishes.between_records and wishes.min_auc is None:
        return f"moves scores by {short_number(found.mean_l1_moved)} on average"
    if found.auc is not None:
        return f"has an AUC of {short_number(found.auc)}"
    return f"keeps the order between records to a Kendall's tau of {short_number(found.order_between)}"


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


def notes(chosen: Defense, wishes: Wishes, n_classes: int, ground: Ground, *, attacked: bool) -> tuple[str, ...]:
    """What else to know."""
    within = not wishes.between_records
    learns, learned, note = chosen.advice.learns, bool(chosen.learned_by), chosen.advice.note
    measured = ground.tried == "measured"
    public = f"{LEARN} (privee.{type(chosen).__name__}.fitted)"
    said = {
        TWO_CLASSES: within and n_classes == 2,
        f"Epsilon is divided by {n_classes} classes; with positive=K, record-order spends all of it on the score of "
        "class K.": not within and n_classes > 2,
        "No labels are known, so nothing is said about what the task loses.": measured and ground.utility is None,
        "Nothing was attacked: give a run folder, --dataset or --entry to see what attacks get.": not measured,
        "No attack could run on this model, so nothing is known about what one would get.": measured and not attacked,
        "One seed gives no intervals; --seeds 3 does, and privee audit tries every attack.": measured
        and len(ground.scores) == 1,
        f"Attacks were given {MOST_RELEASES} releases of each record, not {wishes.queries}.": measured
        and wishes.queries > MOST_RELEASES,
        note: bool(note),
        f"Learned from synthetic scores: {learns}. Learn yours from {public}.": learned and not measured,
        f"Learned from rows that are not attacked: {learns}. Learn yours from {public}.": learned and measured,
        f"Scores are moved less with {learns} learned from {public}.": bool(learns) and not learned,
        ONE_VARIANT: chosen.monotone and wishes.variants == 1 and not ground.all_sealed,
    }
    return tuple(text for text, holds in said.items() if holds)

"""How the attribution is to be read: what is counted, what was chosen with figures in view, what is not re-enacted."""

from __future__ import annotations

from collections.abc import Sequence

from privee.paper.measure.agreement import CLOSE
from privee.paper.released.attribution import Attributed, best_single, without
from privee.paper.released.parts import CONJECTURES, written
from privee.paper.report.many_parties import differences

COUNTED_ONCE = (
    "What is printed more than once counts once: undefended figures beside every defense of GIA by clients (their "
    "mean), beside every rho of GRNA by rho (that of rho = 0.1)."
)
COLUMNS = """\
- *Any combination*: of parts that were read in the code; *with conjectures*: of ours besides, which were played for \
{conjectured} figures alone.
- *By chance*: the mean count after shuffling the printed values among figures of the same attack and defense. These \
are of one size, so a high number there says that the size of the figures is explained and the differences between \
datasets and strengths are not.
- *Page's tables*: met in the tables of this page, as published or with draws to 3, on models of their own; OPE is \
compared there where the frequency-hiding scheme was measured. *Either*: there or by any combination; *either, by \
chance*: the same after shuffling.
- *Too large*: of those not met, how many are above the largest residual that the classes and the defense they name \
allow (see [above](#printed-figures-that-do-not-fit-together))."""
IN_VIEW = (
    "Choices that were made with figures in view: for more than two parties `softmax-again` is not played, and "
    "`double-softmax` is, after a look at those of five, with 6 epochs and with the 60 of the settings. GIA on "
    "CIFAR-100 is played without `hundred-outputs`, since what is printed of PRIVEE there is ten times what a residual "
    "of 100 classes can be. PRIVEE-U+ was first played with `draws-to-3` as well; in the code its draws go up to 1, so "
    "those combinations are not counted, though the file still holds them; it was seen that all parts together meet "
    "more without."
)
LEFT_OUT = (
    "Read in the public snapshot and not re-enacted: one matrix for all records of a run in place of fresh draws; "
    "rates and steps that are not those of the settings (GIA on MNIST at a rate of 0.001, GRNA on Adult and CIFAR at "
    "0.1, on CIFAR for 5 epochs, on many parties for 5 with columns kept in [0, 1]); Adult's categories as columns of "
    "0 and 1 beside unscaled numbers, half of its columns for each party at every strength; on CIFAR another weight "
    "decay for bottoms than for the top, and a falling rate."
)


def how_to_read(found: Sequence[Attributed]) -> str:
    """In words, below the counts."""
    tried = sum(len(one.tried) for one in found)
    played = sum(bool(one.tried) for one in found)
    best = written(best_single([without(one, CONJECTURES) for one in found])[0])
    return (
        f"A figure is met if ours lies within {CLOSE:.0%} of it. {COUNTED_ONCE} Each is compared with combinations of "
        f"those parts alone that can touch it, {tried / max(1, played):.1f} on average for the {played} figures that "
        "were played; no part has a setting that was fitted to a printed number.\n\n"
        f"- *As published*, *all parts*, *one combination*: one choice for all rows; the best one for all is {best}. "
        "What the page's tables have as published was not played so once more: of how many is said.\n"
        f"{COLUMNS.format(conjectured=_conjectured(found))}\n\n{IN_VIEW}\n\n{LEFT_OUT}"
        f"{_paragraph(differences(found))}"
    )


def _conjectured(found: Sequence[Attributed]) -> int:
    """Figures for which some conjecture was played."""
    return sum(any(parts & CONJECTURES for parts in one.tried) for one in found)


def _paragraph(text: str) -> str:
    return f"\n\n{text}" if text else ""

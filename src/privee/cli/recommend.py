"""`privee recommend`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from privee.cli.audit import column_words
from privee.cli.model_options import MODEL_NAMES, check_source, chosen_subject
from privee.cli.names import DATASET, MODEL
from privee.cli.output import out, print_json, print_line, progress_bar
from privee.data.partition import How
from privee.defenses.advice import check_keep
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.audit.recommend import RankedOption, Recommendation

MODELS = Path(".privee-recommend")


def recommend(
    run: Annotated[Path | None, typer.Argument(help="A finished run folder.")] = None,
    classes: Annotated[
        int | None,
        typer.Option("--classes", "-k", min=2, max=100_000, help="Instead of a model: how many classes it has."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            help="What must stay exact: ranking, top-K such as top-3, or class; or order-of-records, as far as epsilon "
            "allows. [default: order-of-records with two classes, ranking with more]"
        ),
    ] = None,
    calibrated_top: Annotated[
        bool, typer.Option("--calibrated-top", help="The released top score must mean what the model's means.")
    ] = False,
    queries: Annotated[int, typer.Option(min=1, help="Releases per record.")] = 1,
    variants: Annotated[
        int, typer.Option(min=1, help="With how many different own columns a record may be asked; 1 if they are fixed.")
    ] = 1,
    formal: Annotated[bool, typer.Option("--formal", help="A formal guarantee over all of them is wanted.")] = False,
    epsilon: Annotated[
        float | None, typer.Option(help="Its budget per record, over all releases; 8 unless given.")
    ] = None,
    max_moved: Annotated[
        float | None, typer.Option(help="Largest mean L1 distance between scores and release.")
    ] = None,
    min_auc: Annotated[
        float | None, typer.Option(help="Smallest AUC of the release for the label; needs labels.")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(autocompletion=DATASET, help="Train a model on this dataset and attack it.")
    ] = None,
    model: Annotated[str, typer.Option(autocompletion=MODEL, help=f"With --dataset: {MODEL_NAMES}.")] = "logistic",
    entry: Annotated[str | None, typer.Option(help="Your own model: module:function returning its parts.")] = None,
    party: Annotated[list[str] | None, typer.Option(help="New tables for a run on tables: NAME=FILE.")] = None,
    fraction: Annotated[float | None, typer.Option(help="Share of the columns the attacker holds.")] = None,
    split: Annotated[How | None, typer.Option(help="With --dataset: how columns are dealt out.")] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions of the attacks; 3 for intervals.")] = 1,
    records: Annotated[
        int | None, typer.Option(min=1, help="Records attacked at a time; 200, and 3,000 column by column.")
    ] = None,
    auxiliary: Annotated[
        int | None, typer.Option(min=0, help="Rows the attacker knows in full; 500, and 3,000 column by column.")
    ] = None,
    seed: Annotated[int, typer.Option(help="With --dataset: for training and for dealing out columns.")] = 0,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many attacks at once; all cores by default.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Which defense to use, with which settings, and on what evidence.

    Example: `privee recommend runs/digits --keep top-3 --calibrated-top --epsilon 8 --queries 5`

    Without a model, `--classes 10` tries settings on synthetic scores, and says nothing about attacks.
    """
    if keep is not None:
        check_keep(keep)
    if classes is None:
        check_source(run, dataset=dataset, entry=entry, party=party, models=[model])
    elif any(source is not None for source in (run, dataset, entry)):
        raise PriveeError("give a model or --classes, not both")

    from privee.audit.recommend import Effort, Wishes
    from privee.audit.recommend import recommend as advise

    wishes = Wishes(
        keep=keep,
        calibrated_top=calibrated_top,
        queries=queries,
        variants=variants,
        formal=formal,
        epsilon=epsilon,
        max_moved=max_moved,
        min_auc=min_auc,
    )
    effort = Effort(seeds=seeds, records=records, auxiliary_rows=auxiliary, jobs=jobs)
    if classes is not None:
        found = advise(wishes, n_classes=classes)
    else:
        subject = chosen_subject(
            run,
            dataset=dataset,
            entry=entry,
            party=party,
            model=model,
            fraction=fraction,
            split=split,
            seed=seed,
            data_dir=data_dir,
            folder=MODELS,
        )
        with progress_bar("attacking") as progress:
            found = advise(wishes, subject=subject, effort=effort, progress=progress)
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found)


def _show(found: Recommendation) -> None:
    chosen = found.chosen
    out.print(Text(f"{'Use' if found.met else 'Nearest'}: {chosen.defense}", style="bold"), soft_wrap=True)
    _lines(
        [
            *(("not met", f"{wish.replace('_', ' ')}: {words}") for wish, words in found.unmet.items()),
            ("why", chosen.why),
            ("proven", chosen.proven),
            ("alike", chosen.same),
            *(("assumes", words) for words in chosen.assumptions),
            *(("releases", words) for words in found.over_releases),
            *(("not covered", words) for words in chosen.not_covered),
            ("tried on", found.tried_on),
            (found.tried, _figures(chosen)),
            *_verdicts(chosen),
            *(("note", words) for words in found.notes),
        ]
    )
    out.print(Text("\nConsidered, and why not", style="bold"))
    for option in found.alternatives:
        _option(option.defense, f"{option.why}\n({_short(option)})")
    out.print(Text("\nNever as protection", style="bold"))
    for option in found.not_protective:
        _option(option.defense, option.why)
    out.print(Text("\nIn Python, and for any command that takes a defense", style="bold"))
    print_line(found.use)
    print_line(f"--defense '{chosen.defense}'")  # no spec holds a quote


def _verdicts(chosen: RankedOption) -> list[tuple[str, str]]:
    """Of whoever asks honestly, and of whoever chooses what it asks."""
    attacked = chosen.attacked
    if attacked is None:
        return []
    again = [] if attacked.asked_again is None else [("asked again", attacked.asked_again.verdict)]
    ever = [] if attacked.without_end is None else [("without end", attacked.without_end.verdict)]
    return [("verdict", attacked.verdict), *again, *ever]


def _option(spec: str, words: str) -> None:
    """A spec on a line of its own, whole, and what is said of it below."""
    out.print(Text(spec), soft_wrap=True)
    out.print(Padding(Text(words), (0, 0, 0, 4)))


def _lines(lines: Iterable[tuple[str, str]]) -> None:
    """What on the left, words on the right; a repeated heading is left out."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=11, overflow="fold")
    table.add_column(overflow="fold")
    before = ""
    for what, words in lines:
        table.add_row(Text("" if what == before else what), Text(words))
        before = what
    out.print(table)


def _figures(option: RankedOption) -> str:
    from privee.audit.results import short_number, with_interval

    words, attacked = _short(option), option.attacked
    if attacked is None or attacked.headline.attacker == "guess":
        return words
    best, guess = attacked.headline, attacked.guess
    return (
        f"{words}; best attack: {best.attack} ({best.attacker}), {with_interval(best.error)}; without the release: "
        f"{guess.attack}, {short_number(guess.error.mean)}"
    )


def _short(option: RankedOption) -> str:
    from privee.audit.results import short_number

    moved, attacked = option.figures, option.attacked
    words = f"moved {short_number(moved.mean_l1_moved)} (L1), top score off by {short_number(moved.top_score_error)}"
    words += f"; order between records {moved.order_between:.2f}"
    if moved.auc is not None and moved.auc_of_scores is not None:
        words += f", AUC {moved.auc:.3f} (scores {moved.auc_of_scores:.3f})"
    if attacked is None:
        return words
    if attacked.asked_again is not None:
        words += f"; asked {attacked.asked_again.questions} times with chosen columns: {attacked.asked_again.grade}"
    mean = f"mean over columns {attacked.guess_normalised:.0%} of a guess's error"
    if attacked.worst is None:
        return f"{words}; {attacked.grade}: {mean}"
    if not attacked.worst.told:
        return f"{words}; {attacked.grade}: of no column more is told than by a guess; {mean}"
    return f"{words}; {attacked.grade}: {attacked.worst.remaining:.0%} left of {column_words(attacked.worst)}; {mean}"

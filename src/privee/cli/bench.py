"""`privee bench`."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from privee.cli.names import (
    ATTACK,
    DATASET,
    DEFENSE,
    MODEL,
    check_attack,
    check_dataset,
    check_defense,
    check_model,
    defense_names,
)
from privee.cli.output import InterruptedByUserError, folded, note, out, print_json, progress_bar
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.bench import Bench, Board
    from privee.bench.running import Done
    from privee.bench.summary import Spread

app = typer.Typer(help="The leaderboard: every defense under every attack, in one table.", invoke_without_command=True)

Many = list[str] | None
Folder = Annotated[Path, typer.Option("--folder", "-o", help="Keeps models and everything that was measured.")]


@app.callback()
def bench(
    context: typer.Context,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="Hours, or ten minutes on two cores (two datasets, one seed).")
    ] = False,
    datasets: Annotated[Many, typer.Option(autocompletion=DATASET, help="Repeatable; those of the size else.")] = None,
    models: Annotated[Many, typer.Option(autocompletion=MODEL, help="Repeatable; logistic and mlp by default.")] = None,
    defenses: Annotated[
        Many,
        typer.Option("--defenses", "-d", autocompletion=DEFENSE, help="Spec, or a name for all its specs; repeatable."),
    ] = None,
    attacks: Annotated[
        Many,
        typer.Option("--attacks", "-a", autocompletion=ATTACK, help="Repeatable; every registered one by default."),
    ] = None,
    protections: Annotated[
        Many, typer.Option(help="Of the model, such as seal:codes=8, repeatable; none for none. All by default.")
    ] = None,
    folder: Folder = Path("bench-results"),
    known: Annotated[
        Path | None,
        typer.Option(
            "--from", help="A leaderboard's JSON, measured elsewhere: what it has of this is not measured again."
        ),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--page", help="Also write it as this page; its picture and JSON go beside it.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many attacks at once; all cores by default.")] = None,
    ray: Annotated[
        bool, typer.Option("--ray", help="On the Ray cluster in RAY_ADDRESS; the folder is shared.")
    ] = False,
    minutes: Annotated[
        float | None, typer.Option(help="Stop after so many, at the next thing done; the same command goes on.")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Attack every defense with everything, on the same models, and rank what is left; what is measured is kept.

    Example: `privee bench --quick --page leaderboard.md`

    An interrupted one goes on where it stopped. What matters most comes first, so it can be stopped at any time.
    """
    if context.invoked_subcommand is not None:
        return
    _check_names(datasets or [], models or [], attacks or [], defenses or [])

    from privee.bench import SIZES, Bench, Plan, load_board, make_board, save_board
    from privee.bench.board import FILE, outside
    from privee.bench.page import check_page
    from privee.bench.plan import MODELS

    if target is not None:
        check_page(target)
    before = None if known is None else load_board(known)
    plan = Plan(
        size=SIZES["full" if full else "quick"],
        datasets=tuple(datasets or ()),
        models=tuple(models or MODELS),
        defenses=tuple(defenses or ()),
        attacks=tuple(attacks or ()),
        protections=None if protections is None else tuple(text for text in protections if text != "none"),
    )
    command = command_line(full, datasets, models, defenses, attacks, protections, known)
    if before is not None and (left_out := outside(plan, before)):
        note(f"{left_out:,} of the {len(before.rows):,} rows of {known} are not asked for, and left out")
    work = Bench(
        plan=plan,
        folder=folder,
        jobs=jobs,
        engine="ray" if ray else "local",
        data_dir=data_dir,
        minutes=minutes,
        known=() if before is None else before.lasting,
    )

    def keep(done: Done) -> Board:
        board = make_board(plan, folder, done, command, before, "" if known is None else known.name)
        save_board(board, folder / FILE)
        return board

    done = _measured(work, keep)
    for model, reason in done.untrained.items():
        note(f"{model} could not be trained: {reason}")
    board = keep(done)
    written = "" if target is None else _written(board, target)
    _tell_rest(done)
    if as_json:
        print_json(board.as_dict())
        return
    print_board(board)
    as_page = f"written: {written}" if written else f"as a page: privee bench page -o {folder}"
    out.print(f"Kept in {folder / FILE}; {as_page}", markup=False)


def _measured(work: Bench, keep: Callable[[Done], Board]) -> Done:
    """Measure with a progress bar; whoever is stopped keeps the board of what there is."""
    from privee.bench.patience import patient

    try:
        with progress_bar("leaderboard") as progress:
            work.progress = patient(progress)
            return work.run()
    except (KeyboardInterrupt, SystemExit) as end:  # the second is that of SIGTERM
        with contextlib.suppress(PriveeError):  # such as that nothing is measured yet
            keep(work.so_far(stopped=True))
        if isinstance(end, SystemExit):
            raise
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None


def command_line(
    full: bool, datasets: Many, models: Many, defenses: Many, attacks: Many, protections: Many, known: Path | None
) -> str:
    """What decides what is measured, for whoever wants to do it again; a file without the folder it lay in here."""
    named = {"--datasets": datasets, "--models": models, "-d": defenses, "-a": attacks, "--protections": protections}
    options = [word for option, some in named.items() for one in some or () for word in (option, one)]
    taken = [] if known is None else ["--from", known.name]
    return shlex.join(["privee", "bench", "--full" if full else "--quick", *options, *taken])


def _check_names(datasets: list[str], models: list[str], attacks: list[str], defenses: list[str]) -> None:
    """Refuse what there is not, with what there is, before anything heavy is imported."""
    for name in datasets:
        check_dataset(name)
    for name in models:
        check_model(name)
    for spec in attacks:
        check_attack(spec)
    for spec in defenses:
        if spec not in defense_names():
            check_defense(spec)


@app.command()
def page(
    folder: Folder = Path("bench-results"),
    target: Annotated[
        Path, typer.Option("--page", help="The page to write; its picture and JSON go beside it.")
    ] = Path("leaderboard.md"),
) -> None:
    """Write what was measured as a page with a picture and its figures.

    Example: `privee bench page --folder bench-results --page docs/leaderboard.md`
    """
    from privee.bench import load_board

    out.print(f"Written: {_written(load_board(folder), target)}", markup=False)


def _written(board: Board, target: Path) -> str:
    from privee.bench.page import write_page

    return ", ".join(map(str, write_page(board, target).values()))


def print_board(board: Board) -> None:
    """All models together, one line per defense."""
    from privee.bench.marks import legend, marks_of
    from privee.bench.summary import lines_of

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False)
    table.add_column("", overflow="fold")
    for heading in (
        "mod-\nels",
        "once",
        "ten\ntimes",
        "5\nchosen",
        "worst\ncolumn",
        "moved",
        "ranking\nkept",
        "AUC\nlost",
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    lines = lines_of(board)
    for line in lines:
        shares = (line.once, line.ten, line.chosen, line.column, line.l1_moved, line.ranking_kept, line.auc_lost)
        what = Text(folded(line.what + marks_of(line), 21))  # not markup: specs have brackets
        table.add_row(what, str(line.models), *map(_median, shares))
    out.print(table)
    for words in legend(lines):
        out.print(words, markup=False)
    out.print(
        "Medians over models. Once, ten times, 5 chosen: of the best guess's error, the share that the best attack is "
        "left with when it asks once, ten times, or five times with own columns of its choice. Moved: mean L1."
    )


def _median(found: Spread | None) -> str:
    return "-" if found is None else f"{found.median:.2f}"


def _tell_rest(done: Done) -> None:
    """What is not measured yet, and what lies there that was measured otherwise."""
    if done.measured < done.planned:
        note(f"{done.measured:,} of {done.planned:,} cells are measured; the same command goes on with the rest")
    if done.others:
        note(f"{done.others:,} cells in this folder are of other settings or versions and were not used")

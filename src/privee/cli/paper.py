"""`privee paper`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.output import InterruptedByUserError, Wide, out, print_json, print_wide, progress_bar
from privee.cli.paper_table import print_table

if TYPE_CHECKING:
    from privee.paper import Outcome, Size

app = typer.Typer(help="The paper's tables and figures, measured here beside what is printed.", no_args_is_help=True)

Full = Annotated[bool, typer.Option("--full/--quick", help="The paper's settings, or minutes on two cores.")]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder for results, pictures and trained models.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Trainings or attacks at once; all cores by default.")]
EngineName = Annotated[Literal["local", "ray"], typer.Option("--engine", help="local, or ray for a Ray cluster.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder with dataset files already downloaded.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_results(wide: Wide = False, as_json: AsJson = False) -> None:
    """What results there are.

    Example: `privee paper list`
    """
    from privee.paper import known_results

    found = [{"name": r.name, "title": r.title, "source": r.source} for r in known_results().values()]
    if as_json:
        print_json(found)
        return
    if wide:
        table = Table("name", "what it shows", "in the paper")
        for row in found:
            table.add_row(*row.values())
        print_wide(table)
        return
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows")
    for row in found:
        table.add_row(row["name"], row["title"])
    out.print(table)
    out.print("Where in the paper: privee paper list --wide")


@app.command()
def run(
    name: Annotated[str, typer.Argument(help="Which result; see `privee paper list`.")],
    full: Annotated[
        bool, typer.Option("--full/--quick", help="The paper's settings, or minutes on two cores.")
    ] = False,
    folder: Folder = Path("paper-results"),
    jobs: Jobs = None,
    engine: EngineName = "local",
    data_dir: DataDir = None,
    parts: Annotated[
        str | None,
        typer.Option(
            "--as-released",
            help="For as-released: these parts on and no others, such as scrambled,rank-surrogate; `profile` for all "
            "that were read in the code.",
        ),
    ] = None,
    only: Annotated[
        str | None,
        typer.Option("--only", help="These datasets, such as mnist,adult; the folder's rows of others stay."),
    ] = None,
    wide: Wide = False,
    as_json: AsJson = False,
) -> None:
    """Measure one result and print it beside the paper's numbers.

    Example: `privee paper run runtime`
    """
    from privee.paper import Bench, check_parts, datasets_of, find_result, kept_beside, measure_result, save_outcome

    result = find_result(name)
    check_parts(result, parts)
    some = datasets_of(result, "full" if full else "quick", only)
    target = folder if parts is None else folder / "parts" / parts.replace(",", "+")
    try:
        with progress_bar(result.title) as bar:
            size: Size = "full" if full else "quick"
            bench = Bench(size, folder / "runs", jobs, engine, data_dir, progress=bar, parts=parts, only=some)
            outcome = kept_beside(result, measure_result(result, bench), target, some)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    files = save_outcome(outcome, target)
    if as_json:
        print_json(outcome.as_dict() | {"files": {k: str(v) for k, v in files.items()}})
        return
    print_outcome(outcome, wide=wide)
    out.print(f"\nKept in {', '.join(map(str, files.values()))}", markup=False)


@app.command("all")
def run_all(
    full: Full = False,
    folder: Folder = Path("paper-results"),
    jobs: Jobs = None,
    engine: EngineName = "local",
    data_dir: DataDir = None,
    again: Annotated[bool, typer.Option("--again", help="Measure also what the folder holds already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Measure every result; what the folder holds already is taken as it is.

    Example: `privee paper all --quick`
    """
    from privee.paper import Bench, measure_all

    found = []
    try:
        with progress_bar("the paper") as bar:
            bench = Bench("full" if full else "quick", folder / "runs", jobs, engine, data_dir, progress=bar)
            for outcome in measure_all(bench, folder, again=again):
                found.append(outcome)
                if not as_json:
                    out.print(f"{outcome.name}: {outcome.about['seconds']:g} s, {_verdict(outcome)}", markup=False)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    if as_json:
        print_json([outcome.as_dict() for outcome in found])
        return
    out.print(f"\nKept in {folder}; one page of it all: privee paper report -o {folder}", markup=False)


@app.command()
def report(
    folder: Folder = Path("paper-results"),
    page: Annotated[Path, typer.Option(help="The page to write; a folder of the same name goes beside it.")] = Path(
        "paper.md"
    ),
) -> None:
    """Write one page of everything measured: printed, measured, whether it agrees, and the files behind it.

    Example: `privee paper report --out paper-results --page paper.md`
    """
    from privee.paper import write_report

    out.print(f"Report: {write_report(folder, page)}", markup=False)


def print_outcome(outcome: Outcome, *, wide: bool = False) -> None:
    """The table, then what agrees."""
    print_table(outcome, wide=wide)
    account = outcome.account
    out.print(
        f"Printed: {account.printed}. Measured: {account.measured}. Verdict: {_verdict(outcome)}. {account.reason}"
    )


def _verdict(outcome: Outcome) -> str:
    words = {True: "agrees", False: "does not agree", None: "nothing printed to compare with"}
    return words[outcome.account.agrees]

"""`privee paper`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from privee.cli.output import InterruptedByUserError, out, print_json, progress_bar

if TYPE_CHECKING:
    from privee.paper import Outcome, Row, Value

app = typer.Typer(help="The paper's tables and figures, measured here beside what is printed.", no_args_is_help=True)

Full = Annotated[bool, typer.Option("--full/--quick", help="The paper's settings, or minutes on two cores.")]
Folder = Annotated[Path, typer.Option("--out", "-o", help="Folder for results, pictures and trained models.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Trainings or attacks at once; all cores by default.")]
EngineName = Annotated[Literal["local", "ray"], typer.Option("--engine", help="local, or ray for a Ray cluster.")]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder with dataset files already downloaded.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("list")
def list_results(as_json: AsJson = False) -> None:
    """What results there are.

    Example: `privee paper list`
    """
    from privee.paper import known_results

    found = [{"name": r.name, "title": r.title, "source": r.source} for r in known_results().values()]
    if as_json:
        print_json(found)
        return
    table = Table("name", "what it shows", "in the paper")
    for row in found:
        table.add_row(*row.values())
    out.print(table)


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
    as_json: AsJson = False,
) -> None:
    """Measure one result and print it beside the paper's numbers.

    Example: `privee paper run runtime`
    """
    from privee.paper import Bench, find_result, measure_result, save_outcome

    result = find_result(name)
    try:
        with progress_bar(result.title) as bar:
            bench = Bench("full" if full else "quick", folder / "runs", jobs, engine, data_dir, progress=bar)
            outcome = measure_result(result, bench)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    files = save_outcome(outcome, folder)
    if as_json:
        print_json(outcome.as_dict() | {"files": {k: str(v) for k, v in files.items()}})
        return
    print_outcome(outcome)
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


def print_outcome(outcome: Outcome) -> None:
    """The table, then what agrees."""
    first = outcome.rows[0]
    measured = list(dict.fromkeys(name for row in outcome.rows for name in row.measured))
    printed = [name for name in measured if any(name in row.printed for row in outcome.rows)]
    table = Table(title=f"{outcome.title} ({outcome.size}; {outcome.band})", title_justify="left")
    for name in first.where:
        table.add_column(name, overflow="fold")  # a spec must not be cut short
    for name in measured:
        table.add_column(_words(name), justify="right")
    for name in printed:
        table.add_column(f"printed {_words(name)}", justify="right", style="dim")
    noted = any(row.note for row in outcome.rows)
    if noted:
        table.add_column("note")
    for row in outcome.rows:
        table.add_row(*_cells(row, measured, printed), *([row.note] if noted else []))
    out.print(table)
    account = outcome.account
    out.print(
        f"Printed: {account.printed}. Measured: {account.measured}. Verdict: {_verdict(outcome)}. {account.reason}"
    )


def _verdict(outcome: Outcome) -> str:
    words = {True: "agrees", False: "does not agree", None: "nothing printed to compare with"}
    return words[outcome.account.agrees]


def _cells(row: Row, measured: list[str], printed: list[str]) -> list[str]:
    where = [f"{value:,}" if isinstance(value, int) else str(value) for value in row.where.values()]
    ours, theirs = (
        [_figure(n, side.get(n)) for n in names] for names, side in ((measured, row.measured), (printed, row.printed))
    )
    return [*where, *ours, *theirs]


def _figure(name: str, value: Value | None) -> str:
    if value is None:
        return "-"
    size, unit = _unit(value.value) if name == "seconds" else (1.0, "")
    ends = [] if value.low is None or value.high is None else [value.low / size, value.high / size]
    band = f" ({ends[0]:.3g} to {ends[1]:.3g})" if ends else ""
    return f"{value.value / size:.3g}{unit}{band}"


def _unit(seconds: float) -> tuple[float, str]:
    units = ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"))
    return next((unit for unit in units if seconds >= unit[0]), (1e-6, " µs"))


def _words(name: str) -> str:
    return name.replace("_", " ")

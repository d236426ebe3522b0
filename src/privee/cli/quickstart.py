"""`privee quickstart`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privee.cli.names import check_model
from privee.cli.output import InterruptedByUserError, err, note, out, print_json, progress_bar
from privee.cli.table_options import show_report
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.quickstart.outcome import Outcome


def quickstart(
    plan: Annotated[Path, typer.Argument(help="The file that says what is what.")] = Path("privee.yaml"),
    init: Annotated[bool, typer.Option("--init", help="Write that file, with comments, to be filled in.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Match and read the tables, say how, and stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """From the parties' tables to a report and a gateway that is ready to start.

    Example: `privee quickstart --init`, fill in privee.yaml, then `privee quickstart`

    Tables are read and matched, a joint model is trained and attacked, a release recommended, and a folder made with
    certificates, a ledger, keys and scripts that start the parties and the gateway. The same command again does what
    is missing, and nothing twice.
    """
    if init:
        from privee.quickstart.example import write_example

        write_example(plan)
        out.print(f"{plan}: fill it in, then `privee quickstart {plan} --dry-run`", markup=False, soft_wrap=True)
        return
    from privee.quickstart.plan import read_plan
    from privee.quickstart.plan_values import in_plan_words
    from privee.quickstart.steps import Quickstart

    said = read_plan(plan)
    check_model(said.model)
    work = Quickstart(said, show=lambda report: show_report(report, where=err), watch=progress_bar, tell=note)
    try:
        if dry_run:
            show_report(work.look(), as_json)
            return
        found = work.work()
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on where it stopped") from None
    except PriveeError as error:
        error.args = (in_plan_words(str(error)),)
        raise
    if as_json:
        print_json(found.as_dict())
    else:
        _show(found)


def _show(found: Outcome) -> None:
    lines = [
        f"Report: {found.report}",
        f"Release: {found.defense}" + ("" if found.met else ", the nearest to what is wished"),
        f"Start all on this machine: sh {found.service / 'start.sh'}",
        f"Ask, once it runs: sh {found.service / 'ask.sh'} ID",
    ]
    for line in lines:
        out.print(line, markup=False, soft_wrap=True)

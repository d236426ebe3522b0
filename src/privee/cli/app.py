"""The application: collects the commands, and turns every failure into one line and an exit code."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from privee.cli import (
    align,
    attack,
    attacks,
    audit,
    bench,
    budget,
    certs,
    data,
    defenses,
    demo,
    federation,
    keys,
    ledger,
    paper,
    party,
    predict,
    protect,
    quickstart,
    recommend,
    report,
    seal,
    train,
    tune,
)
from privee.cli.help import show_whole_words
from privee.cli.output import InterruptedByUserError, print_error
from privee.errors import MissingExtraError, PriveeError, TableError
from privee.extras import missing
from privee.version import __version__

BAD_INPUT, INTERRUPTED = 2, 130

ANYTHING = {"ignore_unknown_options": True, "allow_extra_args": True}


def _add_gateway() -> None:
    """Its options are the budget policies', so the gateway's own; without it, the command says what to install."""
    try:
        from privee.cli import gateway
    except MissingExtraError as error:
        words = str(error)

        def refuse() -> None:
            """Serve protected predictions of a joint model over HTTP; needs `pip install 'privee[gateway]'`."""
            raise MissingExtraError(words)

        app.command("gateway", context_settings=ANYTHING)(refuse)
    else:
        app.add_typer(gateway.app, name="gateway")


app = typer.Typer(
    name="privee",
    help="Release joint predictions without giving away the columns behind them.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("protect")(protect.protect)
app.command("budget")(budget.budget)
app.command("defenses")(defenses.defenses)
app.command("demo")(demo.demo)
app.command("quickstart")(quickstart.quickstart)
app.add_typer(data.app, name="data")
app.command("align")(align.align_command)
app.command("train")(train.train)
app.command("seal")(seal.seal)
app.command("predict")(predict.predict)
app.command("tune")(tune.tune)
app.add_typer(paper.app, name="paper")
app.command("attack")(attack.attack)
app.command("attacks")(attacks.attacks)
app.command("audit")(audit.audit)
app.add_typer(bench.app, name="bench")
app.command("report")(report.report)
app.command("recommend")(recommend.recommend)
_add_gateway()
app.add_typer(federation.app, name="federation")
app.add_typer(party.app, name="party")
app.add_typer(certs.app, name="certs")
app.add_typer(ledger.app, name="ledger")
app.add_typer(keys.app, name="keys")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"privee {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Release joint predictions without giving away the columns behind them."""


def run() -> int:
    """Run the command line and return its exit code."""
    if "--help" in sys.argv or len(sys.argv) < 3:  # a group alone shows its help
        show_whole_words()
    try:
        code = app(standalone_mode=False)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except InterruptedByUserError as error:
        print_error(str(error))
        return INTERRUPTED
    except (PriveeError, OSError) as error:
        print_error(_words(error))
        return BAD_INPUT
    except ModuleNotFoundError as error:  # an extra that is not installed; a missing part of privee itself is a bug
        if (error.name or "privee").startswith("privee"):
            raise
        print_error(str(missing("this command", error.name, "all")))
        return BAD_INPUT
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        print_error(f"{error.format_message()} (see --help)")
        return BAD_INPUT
    if code == INTERRUPTED:
        print_error("interrupted; no unfinished file is left behind")
    return code if isinstance(code, int) else 0


def _words(error: Exception) -> str:
    if isinstance(error, TableError):  # it is about a file that was given here
        return error.to_owner()
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'system'}: {error.strerror}"
    return str(error)

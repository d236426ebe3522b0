"""`privee gateway`; the options of every budget policy are its own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from privee.cli.names import DEFENSE
from privee.cli.output import err, out
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.gateway.budget.base import Option, budget_options


def with_budget_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the policies' options in place of a command's parameter `budget`, a dict of them."""
    parameters = {option.name: _parameter(option) for option in budget_options()}

    @functools.wraps(command)
    def with_options(**values: Any) -> None:
        budget = {name: values.pop(name) for name in parameters}
        command(budget=budget, **values)

    signature = inspect.signature(command, eval_str=True)
    laid_out = [
        one
        for parameter in signature.parameters.values()
        for one in (parameters.values() if parameter.name == "budget" else [parameter])
    ]
    keywords = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in laid_out]
    with_options.__signature__ = signature.replace(parameters=keywords)  # type: ignore[attr-defined]
    return with_options


def _parameter(option: Option) -> inspect.Parameter:
    names = [f"--{option.name.replace('_', '-')}", *([option.short] if option.short else [])]
    kind = option.kind if option.default is not None else option.kind | None
    annotation = Annotated[kind, typer.Option(*names, min=option.least, help=option.help)]  # type: ignore[valid-type]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


app = typer.Typer(no_args_is_help=True, help="Serve protected predictions of a model over HTTP, joint or your own.")


@app.command("serve")
@with_budget_options
def serve(
    run: Annotated[
        Path | None, typer.Argument(help="A finished run folder: config.json and coordinator/ are read.")
    ] = None,
    *,
    defense: Annotated[
        str,
        typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What is released; `none` for the raw scores."),
    ],
    party: Annotated[list[str] | None, typer.Option(help="Where a party listens: NAME=HOST:PORT, repeatable.")] = None,
    codes: Annotated[
        list[str] | None,
        typer.Option(help="Codes that a sealed party handed over in place of listening: NAME=FILE, repeatable."),
    ] = None,
    local: Annotated[
        str | None,
        typer.Option(
            help="The active party's table in this process, if all others are sealed: NAME=DATA, or NAME=SETTINGS.toml "
            "with options of `privee party serve`. Whoever runs this process then sees the scores."
        ),
    ] = None,
    scorer: Annotated[
        str | None,
        typer.Option(
            help="In place of a run, a model that stands alone: an .onnx, .skops, XGBoost .json or .ubj or LightGBM "
            ".txt file, module:function (Arrow table to scores), or another server's address that ends in "
            "/v2/models/NAME."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            envvar="PRIVEE_SCORER_ROWS",
            help="Scorer: a CSV or Parquet file or a database with the entities' rows; else rows come with requests.",
        ),
    ] = None,
    table: Annotated[str | None, typer.Option(help="Scorer: the table of --rows in a database.")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="Scorer: the column of --rows with the ids.")] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="Scorer: columns it takes, in its order: a,b,c. [default: those it names, or all]"),
    ] = None,
    classes: Annotated[str | None, typer.Option(help="Scorer: its classes: no,yes. [default: its own names]")] = None,
    features: Annotated[
        int | None, typer.Option(help="Scorer: numbers in a row that comes with a request, if it does not say.")
    ] = None,
    scorer_input: Annotated[str | None, typer.Option(help="Scorer on another server: the tensor for rows.")] = None,
    scorer_output: Annotated[str | None, typer.Option(help="Scorer: the output with the scores, of several.")] = None,
    scorer_token: Annotated[
        Path | None, typer.Option(help="Scorer on another server: a file with the bearer token for it.")
    ] = None,
    logits: Annotated[bool, typer.Option(help="Scorer: it gives logits, not scores.")] = False,
    ledger: Annotated[str, typer.Option(envvar="PRIVEE_LEDGER_URL", help="Database.")] = "sqlite:///ledger.db",
    ledger_key: Annotated[Path, typer.Option(envvar="PRIVEE_LEDGER_KEY", help="Its key file.")] = Path("ledger.key"),
    certs: Annotated[Path | None, typer.Option(help="Folder made by `privee certs init`.")] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model; default: the run's or the file's.")] = None,
    budget: dict[str, Any],
    window_days: Annotated[float | None, typer.Option(help="Start counting anew after this; default: never.")] = None,
    variants: Annotated[
        str | None,
        typer.Option(
            help="Different columns of the active party's, or rows, to ask about an entity with, ever; or `none`. "
            "[default: 1; none where all passive parties are sealed]"
        ),
    ] = None,
    repeatable: Annotated[bool, typer.Option(help="Answer an identical query identically, uncharged.")] = False,
    uncounted: Annotated[bool, typer.Option(help="Answer without counting. For experiments alone.")] = False,
    deadline: Annotated[float, typer.Option(help="Seconds for the parties, or the scorer, to answer.")] = 2.0,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8080,
    grpc_port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Serve gRPC here too; 0 picks a free one. [default: do not]")
    ] = None,
    tls: Annotated[bool | None, typer.Option("--tls/--no-tls", help="HTTPS; default: unless on loopback.")] = None,
    max_body: Annotated[int, typer.Option(help="Largest request in bytes.")] = 4 << 20,
    max_entities: Annotated[int, typer.Option(help="Most entities in one request.")] = 4096,
    unknown: Annotated[str, typer.Option(help="Most ids without a record that one key may ask about.")] = "5000/day",
    workers: Annotated[int, typer.Option(min=1, help="Processes that answer, all on the one ledger.")] = 1,
    audit: Annotated[
        Path | None, typer.Option(help="For the dashboard: what `privee audit` wrote, its folder or report.html.")
    ] = None,
    traces: Annotated[
        str | None,
        typer.Option(
            envvar="OTEL_EXPORTER_OTLP_ENDPOINT", help="Collector for OpenTelemetry's spans: http://HOST:4318."
        ),
    ] = None,
    ready_file: Annotated[
        Path | None, typer.Option(help="Written when ready: JSON with url, pid and, if served, grpc.")
    ] = None,
) -> None:
    """Answer predictions with releases, each counted in the ledger before it leaves.

    Example: `privee gateway serve runs/risk -d ordered-dp:epsilon=1 --epsilon 10 --party bank=127.0.0.1:7001 --party
    shop=127.0.0.1:7002`, or `privee gateway serve --scorer model.onnx --rows people.csv --id person -d
    ordered-dp:epsilon=1 --epsilon 10`
    """
    from privee.gateway.http.server import serve as work
    from privee.gateway.scorers.settings import ScorerSettings
    from privee.gateway.settings import GatewaySettings

    alone: dict[str, Any] = {"rows": rows, "table": table, "id_column": id_column, "columns": _listed(columns)}
    alone |= {"classes": _listed(classes), "features": features, "logits": logits}
    alone |= {"input": scorer_input, "output": scorer_output, "token": scorer_token}
    if scorer is None and any(alone.values()):
        raise PriveeError("--rows, --id, --columns, --classes, --logits and their like are a scorer's: give --scorer")
    settings = GatewaySettings(
        run=run,
        scorer=None if scorer is None else ScorerSettings(given=scorer, **alone),
        parties=_addresses(party or []),
        defense=make_defense(defense),
        ledger_url=ledger,
        ledger_key=ledger_key,
        name=name,
        certs=certs,
        repeatable=repeatable,
        counted=not uncounted,
        **budget,
        window=None if window_days is None else round(window_days * 86_400),
        variants="usual" if variants is None else _variants(variants),
        deadline=deadline,
        host=host,
        port=port,
        grpc_port=grpc_port,
        tls=tls,
        max_body=max_body,
        max_entities=max_entities,
        unknown=unknown,
        workers=workers,
        local=_named([local] if local else [], "--local NAME=DATA"),
        audit=audit,
        traces=traces,
        codes={name: Path(file) for name, file in _named(codes or [], "--codes NAME=FILE").items()},
    )
    note = "; nothing is counted: no limit holds, and no variant is refused" if uncounted else ""
    greet = functools.partial(err.print, soft_wrap=True)
    work(settings, ready_file=ready_file, announce=lambda url: greet(f"privee gateway on {url}{note}"))


def _listed(given: str | None) -> tuple[str, ...]:
    return () if given is None else tuple(part.strip() for part in given.split(","))


def _variants(given: str) -> int | None:
    """A number, or `none` for any number, as with quotas."""
    if given == "none":
        return None
    if not (given.isascii() and given.isdigit() and 0 < len(given) < 10 and int(given)):
        raise PriveeError("--variants must be a whole number from 1 on, or none")
    return int(given)


def _addresses(given: list[str]) -> dict[str, str]:
    return _named(given, "--party NAME=HOST:PORT")


def _named(given: list[str], form: str) -> dict[str, str]:
    found = dict(part.partition("=")[::2] for part in given)
    if len(found) < len(given) or not all(found.values()):
        raise PriveeError(f"name each party once, as {form}")
    return found


@app.command("demo")
def demo(
    folder: Annotated[Path | None, typer.Option(help="Keep everything here; default: a temporary folder.")] = None,
    defense: Annotated[
        str, typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What is released.")
    ] = "ordered-dp:epsilon=1",
    releases: Annotated[int, typer.Option(min=1, help="Releases that each entity may give.")] = 10,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8080,
) -> None:
    """Start a coordinator and two parties as separate processes, on bundled data; Ctrl-C ends all of them.

    Example: `privee gateway demo`
    """
    import contextlib
    import tempfile

    from privee.gateway.demo import make_world, running

    with contextlib.ExitStack() as stack:
        place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="privee-")))
        place.mkdir(parents=True, exist_ok=True)
        world = make_world(place, err.print)
        options = ("--defense", defense, "--releases", str(releases), "--port", str(port))
        gateway, _ = stack.enter_context(running(world, options, err.print))
        keys = {role: world.api_key(role, quotas=None) for role in ("consumer", "auditor")}
        _show_release(gateway.ready["url"], keys["consumer"])
        _show_how_to_ask(gateway.ready["url"], keys)
        while gateway.wait(1.0) is None:
            pass


def _show_release(url: str, key: str) -> None:
    from privee.client import Client

    with Client(url, key) as client:
        release = client.infer(["17", "42"])
    out.print(f"\n[bold]Releases for the entities 17 and 42[/bold] ({release.defense}):")
    out.print("\n".join("  " + " ".join(f"{value:.3f}" for value in row) for row in release), highlight=False)
    out.print(f"Each can give at least {release.remaining} more.\n")


def _show_how_to_ask(url: str, keys: dict[str, str]) -> None:
    out.print("[bold]Ask yourself:[/bold]")
    body = '{"inputs": [{"name": "entities", "shape": [1], "datatype": "BYTES", "data": ["17"]}]}'
    headers = f"-H 'Authorization: Bearer {keys['consumer']}' -H 'Content-Type: application/json'"
    print(f"curl -s {url}/v2/models/digits/infer {headers} -d '{body}'")
    out.print("This key may be charged for 1000 releases a day; `privee keys create --quota-releases` says otherwise.")
    out.print(f"\n[bold]Look at the ledger:[/bold] {url}/ui, with the auditor's key")
    print(keys["auditor"])
    out.print(f"\nThe routes: {url}/docs. Ctrl-C ends all three processes.")

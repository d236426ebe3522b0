"""`privee party`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privee.cli import party_ledger
from privee.cli.output import out, print_json

app = typer.Typer(help="Serve one party's part of a joint model.", no_args_is_help=True)


@app.command()
def serve(
    folder: Annotated[Path, typer.Argument(help="The party's folder in a run: runs/RUN/parties/NAME.")],
    data: Annotated[
        str,
        typer.Option(
            envvar="PRIVEE_PARTY_DATA",
            help="Its columns: a CSV or Parquet file, postgresql://... or sqlite:///FILE, or `dataset`.",
        ),
    ],
    table: Annotated[str | None, typer.Option(help="With a database: the table, or SCHEMA.TABLE.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The id column, if it is not called as in training.")
    ] = None,
    aligned: Annotated[
        str | None,
        typer.Option(
            help="Newer ids that all parties hold, in place of the run's: a CSV or Parquet file with the id column "
            "(`privee align` writes one). `all` answers for every id, which tells those who ask whom this party knows.",
        ),
    ] = None,
    listen: Annotated[str, typer.Option(help="HOST:PORT; port 0 picks a free one.")] = "127.0.0.1:7001",
    certs: Annotated[
        Path | None, typer.Option(help="The party's folder of `privee certs init`; needed unless on loopback.")
    ] = None,
    ready_file: Annotated[Path | None, typer.Option(help="Write address and process id here once ready.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    ledger: party_ledger.Address = None,
    secret: party_ledger.Secret = None,
    bits: Annotated[float | None, typer.Option(help="Sealed: most bits of codes in an entity's life.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Sealed: most epsilon of codes in an entity's life.")] = None,
    releases: Annotated[int | None, typer.Option(help="Not sealed: most answers in an entity's life.")] = None,
    variants: Annotated[int | None, typer.Option(help="Not sealed: most different answers in its life.")] = None,
) -> None:
    """Answer the gateway's questions for embeddings, from this party's own columns and weights.

    Example: `privee party serve runs/risk/parties/bank --data bank.csv --listen 0.0.0.0:7001 --certs certs/bank`

    From a database: `--data postgresql://reader@db/bank --table customers`. Only the needed columns are read. Ids that
    not all parties hold are unknown here, in the table or not. Logs are JSON lines on standard error, without ids or
    values. SIGTERM stops it gracefully.

    With --ledger or a limit the party counts by itself what it answers, and refuses more, whoever asks. A sealed run
    always does.
    """
    from privee.party.ledger.settings import LedgerSettings
    from privee.party.ledger.terms import PartyLimits
    from privee.party.start import ServeSettings, serve_party
    from privee.party.stores import Source
    from privee.pki.identity import TlsFiles

    source = Source(data, table, id_column, data_dir, aligned)
    tls = None if certs is None else TlsFiles.from_folder(certs)
    own = LedgerSettings(ledger, secret, PartyLimits(bits, epsilon, releases, variants))
    serve_party(ServeSettings(folder, source, listen, tls, ready_file, own))


@app.command("export-codes")
def export_codes(
    folder: Annotated[Path, typer.Argument(help="A sealed party's folder in a run: runs/RUN/parties/NAME.")],
    target: Annotated[
        Path, typer.Option("--out", "-o", help="The file to write; its key is written beside it.")
    ] = Path("codes.parquet"),
    data: Annotated[
        str | None, typer.Option(help="For records that are new since the training: the party's columns, as in serve.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="With a database: the table, or SCHEMA.TABLE.")] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", help="The id column, if it is not called as in training.")
    ] = None,
    aligned: Annotated[Path | None, typer.Option(help="With --data: a file with the ids of new records.")] = None,
    ledger: party_ledger.Address = None,
    secret: party_ledger.Secret = None,
    bits: Annotated[float | None, typer.Option(help="Most bits of codes in an entity's life.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="Most epsilon of codes in an entity's life.")] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Write the codes of all records to a file, once, each charged in the party's ledger: then it can go home.

    Example: `privee party export-codes runs/risk-sealed/parties/shop --out shop-codes.parquet`

    Give the file and its key to the gateway (`privee gateway serve --codes shop=shop-codes.parquet`): it needs this
    party's server no more. The file has no ids, only keyed hashes of them, and one byte of code for each.
    """
    from privee.cli.output import progress_bar
    from privee.data.tables import read_ids
    from privee.errors import PriveeError
    from privee.party.exporting import export_codes as work
    from privee.party.ledger.settings import LedgerSettings
    from privee.party.ledger.terms import PartyLimits
    from privee.party.stores import Source
    from privee.vfl.run_format import PartyDescription

    if (data is None) != (aligned is None):
        raise PriveeError("records that are new since the training need both --data and --aligned")
    names = [name for name in (id_column, PartyDescription.read(folder).id_column) if name is not None]
    new = None if aligned is None else read_ids(aligned, names).to_pylist()
    source = None if data is None else Source(data, table, id_column, None, str(aligned))
    own = LedgerSettings(ledger, secret, PartyLimits(bits, epsilon))
    with progress_bar("codes") as bar:
        done = work(folder, target, own, source=source, entities=new, force=force, progress=bar)
    if as_json:
        print_json(done.as_dict())
        return
    left_out = f", {done.refused:,} left out (beyond the limits)" if done.refused else ""
    left_out += f", {done.unknown:,} unknown" if done.unknown else ""
    out.print(f"{done.file}: {done.entities:,} codes, {done.charged:,} charged now{left_out}", markup=False)
    out.print(
        f"its key: {done.file}.key; whoever has both can try ids, whoever has the codes alone cannot", markup=False
    )


@app.command()
def describe(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Write the party.json files that a run of an older privee lacks.

    Example: `privee party describe runs/risk`
    """
    from privee.vfl.experiment import describe_parties

    written = [str(path) for path in describe_parties(run)]
    if as_json:
        print_json({"written": written})
        return
    out.print("\n".join(written) or f"{run}: every party is described already", markup=False, soft_wrap=True)


app.command()(party_ledger.status)
app.command()(party_ledger.verify)
app.command()(party_ledger.reseal)
app.command("accept-loss")(party_ledger.accept_loss)

"""`privee align`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privee.cli.model_options import id_columns, named_files
from privee.cli.output import out, print_json, progress_bar
from privee.extras import missing


def align_command(
    party: Annotated[
        list[str], typer.Option("--party", "-p", help="NAME=FILE (.csv, .tsv, .parquet); once per party.")
    ],
    active: Annotated[str, typer.Option(help="The party that holds the labels; it meets each of the others.")],
    id_column: Annotated[
        list[str], typer.Option("--id", help="Id column of all parties, or PARTY:COLUMN for one; repeatable.")
    ],
    folder: Annotated[Path, typer.Option("--out", "-o", help="Folder for the aligned files, one per party.")],
    delimiter: Annotated[str, typer.Option(help="CSV delimiter, if it is not found.")] = "",
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace files that exist.")] = False,
    engine: Annotated[
        str, typer.Option(help="openmined, or spu: for millions; needs the Python that PRIVEE_SPU_PYTHON names.")
    ] = "openmined",
    link: Annotated[
        list[str] | None, typer.Option(help="NAME=HOST:PORT of both parties (spu): --party is ours alone.")
    ] = None,
    certificate: Annotated[Path | None, typer.Option(help="Own certificate for the link (PEM).")] = None,
    key: Annotated[Path | None, typer.Option(help="Its private key.")] = None,
    other_certificate: Annotated[Path | None, typer.Option(help="The other party's own certificate.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Summary as JSON.")] = False,
) -> None:
    """Find the records that all parties hold, without showing ids, and put them in the same order.

    Each party gets a file of its own rows: those common to all, in common order, all columns as they were. Ids are
    compared as text, exactly. With all files on one machine this is for trying out; across organisations the same
    messages travel over the network, or two parties meet over a link of spu.

    Example: `privee align -p bank=bank.csv -p shop=shop.parquet --active bank --id customer_id --out aligned`
    """
    try:
        from privee.data.alignment import align_files
        from privee.data.alignment.engines import chosen_engine
    except ModuleNotFoundError as error:
        raise missing("alignment", error.name, "alignment") from None
    files = named_files(party)
    chosen = chosen_engine(engine, link or (), certificate, key, other_certificate)
    with progress_bar("aligning") as progress:
        summary = align_files(
            files,
            active=active,
            id_columns=id_columns(id_column, files),
            out=folder,
            delimiter=delimiter,
            force=force,
            progress=progress,
            engine=chosen,
        )
    if as_json:
        print_json(summary.as_dict())
        return
    out.print(f"{summary.common:,} common records, {summary.seconds:.1f} s", markup=False)
    for name, target in summary.out.items():
        sent = f", sent {summary.messages[name].bytes_sent:,} bytes" if name in summary.messages else ""
        out.print(f"{name}: {summary.records[name]:,} records{sent}, {target}", markup=False)

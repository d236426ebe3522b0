"""`privee certs`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from privee.cli.output import err, out, print_json

if TYPE_CHECKING:
    from privee.pki.certificates import Issued

app = typer.Typer(help="A private CA and certificates for the gateway and its parties.", no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command()
def init(
    folder: Annotated[Path, typer.Argument(help="Folder for the CA and one folder per role.")],
    party: Annotated[
        list[str] | None, typer.Option(help="A party's name, repeatable; none for a gateway without parties.")
    ] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Host name or IP number the certificates are for, repeatable.")
    ] = None,
    days: Annotated[int, typer.Option(min=1, max=3650, help="How long the certificates are valid.")] = 365,
    ca_days: Annotated[int, typer.Option(min=1, max=36500, help="How long a new CA is valid.")] = 3650,
    as_json: Json = False,
) -> None:
    """Make a CA and certificates for the coordinator and the parties; run it again to add a party with the same CA.

    Example: `privee certs init certs --party bank --party shop --name localhost --name 127.0.0.1`

    Hand every party its own folder and nothing else. Keep ca.key away from the machines that serve.
    """
    from privee.pki.certificates import init_certificates

    _tell(
        init_certificates(folder, party or [], name or ["localhost", "127.0.0.1"], days=days, ca_days=ca_days), as_json
    )


@app.command()
def show(
    folder: Annotated[Path, typer.Argument(help="A folder of `privee certs init`.")], as_json: Json = False
) -> None:
    """List the certificates of a folder.

    Example: `privee certs show certs`
    """
    from privee.pki.certificates import list_certificates

    _tell(list_certificates(folder), as_json)


def _tell(certificates: list[Issued], as_json: bool) -> None:
    from privee.pki.identity import RENEW

    if as_json:
        print_json([one.as_dict() for one in certificates])
        return
    table = Table("role", "names", "expires", "folder")
    for one in certificates:
        table.add_row(one.role + (" (new)" if one.new else ""), ", ".join(one.names), one.expires, one.folder)
    out.print(table)
    wide = [one.role for one in certificates if one.wide]
    if wide:
        words = f"{', '.join(wide)}: certificates of an older privee, which can also call other parties. To renew one, "
        err.print(words + RENEW + ".", markup=False, highlight=False, soft_wrap=True)

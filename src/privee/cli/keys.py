"""`privee keys`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.table import Table

from privee.cli.ledger import KEY, URL, Json, KeyFile, Url, actor, opened, plain, tell, when
from privee.cli.output import err, out, print_json

app = typer.Typer(help="API keys: who may ask the gateway.", no_args_is_help=True)

DAY = 86_400


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Whose key it is.")],
    role: Annotated[
        Literal["consumer", "auditor", "administrator"],
        typer.Option(help="Asks for predictions, reads the ledger, or makes keys and resets."),
    ],
    scope: Annotated[list[str] | None, typer.Option(help="A model it may ask, or '*'; repeatable.")] = None,
    rate: Annotated[str, typer.Option(help="Most requests, such as 100/minute or '5/second;100/hour'.")] = "100/minute",
    expires_days: Annotated[int | None, typer.Option(min=1, help="Days it is valid; default: until revoked.")] = None,
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Make a key and print it, this once.

    Example: `privee keys create shop --role consumer --scope risk --rate 100/minute --expires-days 90`
    """
    from privee.gateway.ledger.api_keys import Keys

    lifetime = None if expires_days is None else expires_days * DAY
    with opened(url, key) as ledger:
        keys = Keys(ledger.engine, ledger.chain_key, ledger.now)
        record, text = keys.create(name, role, scope or (), rate, actor=actor(), expires_in=lifetime)
    if as_json:
        print_json(record.as_dict() | {"key": text})
        return
    err.print(f"Key {record.id} for {record.name}. It is not stored and cannot be shown again:", markup=False)
    tell(text)


@app.command("list")
def list_keys(url: Url = URL, key: KeyFile = KEY, as_json: Json = False) -> None:
    """All keys, without their secrets.

    Example: `privee keys list`
    """
    from privee.gateway.ledger.api_keys import Keys

    with opened(url, key, lossy=True) as ledger:
        now = ledger.now()
        found = Keys(ledger.engine, ledger.chain_key, ledger.now).list()
    if as_json:
        print_json([one.as_dict() | {"state": one.state(now)} for one in found])
        return
    table = Table()
    for heading in ("id", "name", "role", "scopes", "rate", "expires", "state"):
        table.add_column(heading, overflow="fold", no_wrap=heading not in {"name", "scopes", "rate"})
    for one in found:
        expires = "never" if one.expires_at is None else when(one.expires_at)[:10]
        texts = (one.id, one.name, one.role, ", ".join(one.scopes), one.rate, expires, one.state(now))
        table.add_row(*map(plain, texts))
    out.print(table, markup=False)


@app.command()
def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="The key's id; see `privee keys list`.")],
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Revoke a key, for good.

    Example: `privee keys revoke 1f2e3d4c --reason "left the project"`
    """
    from privee.gateway.ledger.api_keys import Keys

    with opened(url, key) as ledger:
        record = Keys(ledger.engine, ledger.chain_key, ledger.now).revoke(key_id, reason, actor=actor())
    if as_json:
        print_json(record.as_dict())
        return
    tell(f"Key {record.id} of {record.name} is revoked.")

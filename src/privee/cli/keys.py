"""`privee keys`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer
from rich.table import Table

from privee.cli.ledger import KEY, URL, Json, KeyFile, Url, actor, opened, plain, tell, when
from privee.cli.output import err, out, print_json

app = typer.Typer(help="API keys: who may ask the gateway.", no_args_is_help=True)

DAY = 86_400
KeyId = Annotated[str, typer.Argument(metavar="ID", help="The key's id; see `privee keys list`.")]
Releases = Annotated[str | None, typer.Option(help="Most releases charged, such as 1000/day, or none.")]
Entities = Annotated[str | None, typer.Option(help="Most different entities, such as 500/day, or none.")]
Share = Annotated[str | None, typer.Option(help="Most of any entity's budget, above 0 to 1, or none.")]


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
    quota_releases: Releases = None,
    quota_entities: Entities = None,
    quota_share: Share = None,
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Make a key and print it, this once. A consumer's may be charged for 1000 releases a day unless told otherwise.

    Example: `privee keys create shop --role consumer --scope risk --quota-share 0.5 --expires-days 90`
    """
    from privee.gateway.ledger.api_keys import KeyStore, default_quotas

    lifetime = None if expires_days is None else expires_days * DAY
    quotas = default_quotas(role).changed(quota_releases, quota_entities, quota_share)
    with opened(url, key) as ledger:
        keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        record, text = keys.create(name, role, scope or (), rate, actor=actor(), expires_in=lifetime, quotas=quotas)
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
    from privee.gateway.ledger.api_keys import KeyStore

    with opened(url, key, lossy=True) as ledger:
        now = ledger.now()
        found = KeyStore(ledger.engine, ledger.chain_key, ledger.now).list()
    if as_json:
        print_json([one.as_dict() | {"state": one.state(now)} for one in found])
        return
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found:
        state: str = one.state(now)
        if state == "active" and one.expires_at is not None:
            state += f" until {when(one.expires_at)[:10]}"
        table.add_row(plain(one.id), plain(f"{one.name}: {one.role}, {state}"))
        table.add_row("", plain(f"models {', '.join(one.scopes) or 'none'}; at most {one.rate}; quotas: {one.quotas}"))
    out.print(table, markup=False)


@app.command()
def quota(
    key_id: KeyId,
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    releases: Releases = None,
    entities: Entities = None,
    share: Share = None,
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Change what a key may use up; quotas that are not given stay as they are, and what it has used stays counted.

    Example: `privee keys quota 1f2e3d4c --releases 5000/day --share none --reason "a larger batch every night"`
    """
    from privee.gateway.ledger.api_keys import KeyStore

    wishes = {"releases": releases, "entities": entities, "share": share}
    with opened(url, key) as ledger:
        keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        record = keys.set_quotas(key_id, reason, actor=actor(), **wishes)
    if as_json:
        print_json(record.as_dict())
        return
    tell(f"Key {record.id} of {record.name} has the quotas: {record.quotas}.")


@app.command()
def revoke(
    key_id: KeyId,
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Revoke a key, for good.

    Example: `privee keys revoke 1f2e3d4c --reason "left the project"`
    """
    from privee.gateway.ledger.api_keys import KeyStore

    with opened(url, key) as ledger:
        record = KeyStore(ledger.engine, ledger.chain_key, ledger.now).revoke(key_id, reason, actor=actor())
    if as_json:
        print_json(record.as_dict())
        return
    tell(f"Key {record.id} of {record.name} is revoked.")

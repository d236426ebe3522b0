"""`privee ledger`."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from privee.cli.ids import one_id, some_ids
from privee.cli.ledger_compare import compare
from privee.cli.output import err, out, print_json
from privee.defenses.secret_keys import read_key
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.gateway.ledger.ledger import Ledger
    from privee.gateway.ledger.views import Spending

app = typer.Typer(help="The ledger: what was given away, and who changed what.", no_args_is_help=True)

Url = Annotated[str, typer.Option("--url", envvar="PRIVEE_LEDGER_URL", help="Database: SQLite or PostgreSQL.")]
KeyFile = Annotated[Path, typer.Option("--key", envvar="PRIVEE_LEDGER_KEY", help="File with the ledger's secret key.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]
URL, KEY = "sqlite:///ledger.db", Path("ledger.key")
BROKEN = 1


@app.command()
def init(url: Url = URL, key: KeyFile = KEY, as_json: Json = False) -> None:
    """Make a ledger, and its secret key unless there is one.

    Example: `privee ledger init --url sqlite:///ledger.db --key ledger.key`
    """
    from privee.durable.private_files import key_file
    from privee.gateway.ledger.ledger import Ledger

    with key_file(key) as made:
        Ledger.create(url, read_key(key))
    if as_json:
        print_json({"url": _shown(url), "key": str(key), "new_key": made})
        return
    tell(f"Ledger: {_shown(url)}\nKey: {key} ({'new' if made else 'was there'})")
    tell("Keep a copy of the key apart from the database. It opens the ledger, and whoever has it can look up ids.")
    tell("Next: privee keys create NAME --role administrator, then privee gateway serve")


@app.command()
def upgrade(url: Url = URL, as_json: Json = False) -> None:
    """Bring a ledger made by an older privee up to date. Copy it first, and stop the gateways.

    Example: `privee ledger upgrade`
    """
    from privee.gateway.ledger import opening
    from privee.gateway.ledger.ledger import Ledger

    Ledger.upgrade(url)
    if as_json:
        print_json({"url": _shown(url), "version": opening.head()})
        return
    tell(f"Up to date: {_shown(url)}, version {opening.head()}")


@app.command()
def verify(
    url: Url = URL,
    key: KeyFile = KEY,
    expect: Annotated[str | None, typer.Option(help="ENTRIES:HEAD as printed by a former check.")] = None,
    as_json: Json = False,
) -> None:
    """Check that nobody changed the log of administrative acts. Exit code 1 if somebody did.

    Example: `privee ledger verify --expect 12:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08`

    Keep what it prints on another computer: only against that it shows that the newest entries were cut off.
    """
    from privee.durable.audit_chain import Chain, parse_expect

    kept = None if expect is None else parse_expect(expect)
    with opened(url, key, lossy=True) as ledger:
        found = Chain(ledger.engine, ledger.chain_key).verify(kept)
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        tell(f"{'Unbroken' if found.ok else 'BROKEN'}: {found.words}")
        tell(f"{'Keep elsewhere' if found.ok else 'Holds up to'}: {found.entries}:{found.head}")
    if not found.ok:
        raise typer.Exit(BROKEN)


@app.command()
def show(
    url: Url = URL,
    key: KeyFile = KEY,
    entity: Annotated[str | None, typer.Option(help="Of one entity: its id; - reads it from standard input.")] = None,
    as_json: Json = False,
) -> None:
    """What was given away, in total or by one entity. A request is about one entity or many, a release about one.

    Example: `privee ledger show --entity - < id.txt`
    """
    from privee.gateway.numbers_as_text import counted

    with opened(url, key, lossy=True) as ledger:
        if entity is not None:
            _show_entity(ledger.spent(one_id(entity)), as_json)
            return
        found = dataclasses.asdict(ledger.totals())
    if as_json:
        print_json(found)
        return
    pinned = f", {found['refused_variants']:,} of them for another variant" if found["refused_variants"] else ""
    tell(f"{counted(found['releases'], 'request')} answered, {counted(found['refusals'], 'request')} refused{pinned}")
    given = f"{counted(found['released_entities'], 'release')} of {counted(found['entities'], 'entity', 'entities')}"
    tell(f"{given}, {found['charged']:,} of them charged")


@app.command()
def reset(
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    entity: Annotated[str | None, typer.Option(help="Its id; - reads it from standard input.")] = None,
    file: Annotated[str | None, typer.Option(help="Many: a file with one id per line; - is standard input.")] = None,
    of_key: Annotated[
        str | None, typer.Option(metavar="KEY_ID", help="All that this API key was charged for ...")
    ] = None,
    since: Annotated[datetime | None, typer.Option(help="... since this time (UTC).")] = None,
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Let entities start anew, all or none. What they gave away in their lifetime stays on record; it is logged.

    Example: `privee ledger reset --entity - --reason "consent renewed" < id.txt`

    What a key was charged for is written down for keys with a quota of entities or a share, from when they had it.
    """
    if sum(given is not None for given in (entity, file, of_key)) != 1 or (since and of_key is None):
        raise PriveeError("say which: --entity ID, --file FILE, or --of-key KEY_ID with or without --since TIME")
    with opened(url, key) as ledger:
        if entity is not None:
            name = one_id(entity)
            ledger.reset(name, reason=reason, actor=actor())
            _show_entity(ledger.spent(name), as_json)
            return
        if of_key is not None:
            start = 0 if since is None else int(since.replace(tzinfo=UTC).timestamp())
            count = ledger.reset_charged_by(of_key, since=start, reason=reason, actor=actor())
        else:
            count = ledger.reset_many(some_ids(str(file)), reason=reason, actor=actor())
    print_json({"entities": count}) if as_json else tell(f"{count:,} entities start anew.")


@app.command("accept-loss")
def accept_loss(
    reason: Annotated[str, typer.Option(help="Why, for the log.")],
    spend_all: Annotated[bool, typer.Option("--spend-all", help="Every entity in it counts as spent.")] = False,
    url: Url = URL,
    key: KeyFile = KEY,
    as_json: Json = False,
) -> None:
    """Go on with a ledger that has lost counts, such as an old copy. Put back a newer one instead, if there is one.

    Example: `privee ledger accept-loss --spend-all --reason "disk failed, copy of Sunday put back"`

    Who was asked about in what is lost, nobody knows. With --spend-all entities in the ledger are refused until they
    are reset or their window ends; those that are first in what is lost are not in it, and start from nothing.
    """
    with opened(url, key, lossy=True) as ledger:
        lost = ledger.lost
        ledger.accept_loss(reason=reason, actor=actor(), spend_all=spend_all)
    if as_json:
        print_json({"url": _shown(url), "lost": lost, "spend_all": spend_all})
        return
    tell(f"Accepted and logged: {_shown(url)} can be used again.")


@app.command()
def log(
    url: Url = URL,
    key: KeyFile = KEY,
    last: Annotated[int, typer.Option(min=1, help="How many of the newest entries.")] = 50,
    as_json: Json = False,
) -> None:
    """Who changed what: the newest entries, oldest first. `privee ledger verify` tells whether they are genuine.

    Example: `privee ledger log --last 10`
    """
    from privee.durable.audit_chain import Chain

    with opened(url, key, lossy=True) as ledger:
        found = [entry.as_dict() for entry in Chain(ledger.engine, ledger.chain_key).entries(last)]
    if as_json:
        print_json(found)
        return
    table = Table()
    for heading in ("entry", "time (UTC)", "actor", "act", "subject", "reason"):
        table.add_column(heading, overflow="fold", no_wrap=heading in {"entry", "time (UTC)"})
    for entry in found:
        rest = (plain(entry[name]) for name in ("actor", "act", "subject", "reason"))
        table.add_row(plain(entry["seq"]), when(entry["at"]), *rest)
    out.print(table, markup=False)


app.command()(compare)


@contextlib.contextmanager
def opened(url: str, key: Path, *, lossy: bool = False) -> Iterator[Ledger]:
    """The ledger, closed afterwards. No limits are set: nothing is charged here. `lossy`: as in `Ledger.open`."""
    from privee.gateway.ledger.ledger import Ledger
    from privee.gateway.ledger.limits import Limits

    with Ledger.open(url, read_key(key), limits=Limits(), lossy=lossy) as ledger:
        if ledger.lost:
            err.print(f"Note: {ledger.lost}", markup=False, soft_wrap=True)
        yield ledger


def actor() -> str:
    """Who runs this command, from the operating system; variables such as USER could say anything."""
    if os.name != "posix":
        return f"cli:{getpass.getuser()}"
    import pwd

    try:
        return f"cli:{pwd.getpwuid(os.getuid()).pw_name}"
    except KeyError:
        return f"cli:uid {os.getuid()}"


def tell(text: str) -> None:
    """One line, however long."""
    out.print(text, markup=False, soft_wrap=True)


def when(seconds: Any) -> str:
    """A time in UTC, or as it is if it cannot be one."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
    except (TypeError, ValueError, OverflowError, OSError):
        return plain(seconds)


def plain(value: Any) -> str:
    """Safe on a terminal, also if somebody wrote control characters into the database."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(value))


def _show_entity(found: Spending, as_json: bool) -> None:
    """Only the gateway knows the limits, so shares of them are left out."""
    releases = int(found.spent["releases"])
    if as_json:
        lifetime = {"lifetime_releases": found.lifetime_releases, "lifetime_epsilon": found.lifetime_epsilon}
        print_json({"tag": found.tag, "releases": releases, "variants": found.variants} | lifetime)
        return
    tell(f"Entity {found.tag}: {releases:,} releases since its last reset or window began")
    tell(f"Asked about in variants of the active party's columns since its last reset: {found.variants:,}")
    tell(f"In its lifetime: {found.lifetime_releases:,} releases, epsilon {found.lifetime_epsilon:g}")


def _shown(url: str) -> str:
    from sqlalchemy import make_url

    return make_url(url).render_as_string(hide_password=True)

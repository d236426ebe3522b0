"""`privee ledger compare`."""

from __future__ import annotations

import dataclasses
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from privee.cli.output import err, out, print_json
from privee.defenses.secret_keys import read_key

DIFFERENT = 1
WORDS = {
    "strange": "the party was asked by somebody else, under no name of this gateway's",
    "unrecorded": "under names of this gateway's, not in its ledger: it ended before it wrote them, or its key leaked",
    "repeated": "again under a name that was used before",
    "lost": "the gateway made them, and the party's ledger does not have them",
    "different": "in both, with other numbers of entities or another outcome",
}


def compare(
    gateway_ledger: Annotated[str, typer.Argument(help="The gateway's: a SQLite file, or postgresql://...")],
    party_ledger: Annotated[str, typer.Argument(help="The party's own: a SQLite file, or postgresql://...")],
    party: Annotated[str, typer.Option(help="Its name.")],
    key: Annotated[
        Path, typer.Option("--key", envvar="PRIVEE_LEDGER_KEY", help="File with the gateway's ledger's secret key.")
    ] = Path("ledger.key"),
    secret: Annotated[
        Path | None,
        typer.Option("--secret", envvar="PRIVEE_PARTY_SECRET", help="The party's secret. [default: beside its ledger]"),
    ] = None,
    since: Annotated[datetime | None, typer.Option(help="Leave out calls before this time (UTC).")] = None,
    settle: Annotated[int, typer.Option(min=0, help="Leave out calls of the last seconds, so many.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Compare what the gateway asked a party with what the party answered. Exit code 1 if they differ.

    Example: `privee ledger compare ledger.db bank/ledger.db --party bank --secret bank/ledger.key`

    It needs both ledgers, or copies, and both keys: for an auditor whom both sides trust. The party's log is verified
    first. Calls from before the party kept a ledger are in neither list.
    """
    start = 0.0 if since is None else since.replace(tzinfo=UTC).timestamp()
    chain, calls = _found(gateway_ledger, key, party_ledger, secret, party, (start, time.time() - settle))
    same = bool(chain["ok"] and calls and calls["ok"])
    if as_json:
        print_json({"party": party, "same": same, "chain": chain, "calls": calls})
    else:
        _tell(party, chain, calls)
    if not same:
        raise typer.Exit(DIFFERENT)


def _found(
    gateway: str, key: Path, ledger: str, secret: Path | None, party: str, times: tuple[float, float]
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The party's chain, and, if it holds, how the calls compare."""
    from privee.gateway.comparing import Receipt, compare
    from privee.gateway.ledger.ledger import Ledger
    from privee.gateway.ledger.limits import Limits
    from privee.gateway.ledger.party_calls import calls_to, is_own
    from privee.party.ledger.settings import LedgerSettings

    url = gateway if "://" in gateway else f"sqlite:///{gateway}"
    with LedgerSettings(ledger, secret).existing(Path(), lossy=True) as held:
        _note(held.lost)
        chain = dataclasses.asdict(held.chain.verify())
        if not chain["ok"]:
            return chain, None
        receipts = [receipt for receipt in map(Receipt.of_entry, held.calls()) if receipt]
    with Ledger.open(url, read_key(key), limits=Limits(), lossy=True) as own:
        _note(own.lost)
        with own.reading() as connection:
            sent = calls_to(connection, party)
        names = own.keys.calls
    found = compare(sent, receipts, lambda name: is_own(names, party, name), since=times[0], until=times[1])
    return chain, dataclasses.asdict(found) | {"ok": found.ok}


def _note(lost: str | None) -> None:
    if lost:
        err.print(f"Note: {lost}", markup=False, soft_wrap=True)


def _tell(party: str, chain: dict[str, Any], calls: dict[str, Any] | None) -> None:
    _line(f"Log of party {party}: {'unbroken' if chain['ok'] else 'BROKEN'}, {chain['words']}")
    if calls is None:
        return
    _line(f"{calls['same']:,} calls are the same in both")
    for kind, words in WORDS.items():
        if calls[kind]:
            _line(f"DIFFERENT: {calls[kind]:,} calls: {words}")


def _line(text: str) -> None:
    out.print(text, markup=False, soft_wrap=True)

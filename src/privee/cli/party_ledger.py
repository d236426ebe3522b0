"""`privee party status`, `verify`, `reseal` and `accept-loss`: a party's own ledger."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privee.cli.ids import one_id, some_ids
from privee.cli.ledger import BROKEN, Json, actor, plain, tell, when
from privee.cli.output import err, print_json
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.party.ledger.settings import LedgerSettings

Folder = Annotated[Path, typer.Argument(help="The party's folder in a run: runs/RUN/parties/NAME.")]
Address = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        envvar="PRIVEE_PARTY_LEDGER",
        help="The party's own ledger: a SQLite file, or postgresql://... [default: ledger.db in the folder]",
    ),
]
Secret = Annotated[
    Path | None,
    typer.Option("--secret", envvar="PRIVEE_PARTY_SECRET", help="Its secret. [default: ledger.key beside it]"),
]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]


def status(folder: Folder, ledger: Address = None, secret: Secret = None, as_json: Json = False) -> None:
    """What a party's own ledger has counted: codes, the most any entity has spent, limits, the last call.

    Example: `privee party status runs/risk/parties/bank`
    """
    with _settings(ledger, secret).existing(folder, lossy=True) as opened:
        found, lost = opened.status(), opened.lost
    if as_json:
        print_json(found.as_dict() | {"lost": lost})
        return
    if lost:
        err.print(f"Note: {lost}", markup=False, soft_wrap=True)
    tell(
        f"{found.answered:,} calls answered, {found.refused:,} refused; {found.entities:,} entities have spent anything"
    )
    for seal, held in found.codes.items():
        tell(f"Seal {seal[:12]}: {held['entities']:,} entities have one of its {held['codes']} codes")
    tell(f"Most that an entity has spent: {_numbers(found.most.as_dict())}")
    tell(f"Limits: {_numbers(dataclasses.asdict(found.limits)) or 'none'}")
    if found.last:
        tell(f"Last entry: {found.last['seq']}, {plain(found.last['act'])}, {when(found.last['at'])} UTC")


def verify(
    folder: Folder,
    ledger: Address = None,
    secret: Secret = None,
    expect: Annotated[str | None, typer.Option(help="ENTRIES:HEAD as printed by a former check.")] = None,
    as_json: Json = False,
) -> None:
    """Check that nobody changed a party's log of calls and acts. Exit code 1 if somebody did.

    Example: `privee party verify runs/risk/parties/bank`

    Keep what it prints on another computer: only against that it shows that the newest entries were cut off.
    """
    from privee.durable.audit_chain import parse_expect

    kept = None if expect is None else parse_expect(expect)
    with _settings(ledger, secret).existing(folder, lossy=True) as opened:
        found = opened.chain.verify(kept)
    if as_json:
        print_json(dataclasses.asdict(found))
    else:
        tell(f"{'Unbroken' if found.ok else 'BROKEN'}: {found.words}")
        tell(f"{'Keep elsewhere' if found.ok else 'Holds up to'}: {found.entries}:{found.head}")
    if not found.ok:
        raise typer.Exit(BROKEN)


def reseal(
    folder: Folder,
    reason: Reason,
    entity: Annotated[str | None, typer.Option(help="Its id; - reads it from standard input.")] = None,
    file: Annotated[str | None, typer.Option(help="Many: a file with one id per line; - is standard input.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every entity that has a code.")] = False,
    ledger: Address = None,
    secret: Secret = None,
    as_json: Json = False,
) -> None:
    """Forget codes, so that new ones are drawn at the next question. Each is paid for again; it is logged.

    Example: `privee party reseal runs/risk/parties/bank --file moved.txt --reason "their records were wrong"`

    All or none: refused if an entity has no code, or has spent too much to bear another.
    """
    if sum((entity is not None, file is not None, every)) != 1:
        raise PriveeError("say whose: --entity ID, --file FILE, or --all")
    chosen = None if every else [one_id(entity)] if entity is not None else some_ids(str(file))
    with _settings(ledger, secret).existing(folder) as opened:
        count = opened.reseal(chosen, reason=reason, actor=actor())
    words = f"{count:,} codes are forgotten; new ones are drawn when asked for."
    print_json({"codes": count}) if as_json else tell(words)


def accept_loss(
    folder: Folder,
    reason: Reason,
    spend_all: Annotated[bool, typer.Option("--spend-all", help="No entity in it may spend any more.")] = False,
    ledger: Address = None,
    secret: Secret = None,
    as_json: Json = False,
) -> None:
    """Go on with a party's ledger that lost something, is a copy, or is gone. Put the newest copy back instead, if any.

    Example: `privee party accept-loss runs/risk/parties/bank --spend-all --reason "disk failed, old copy put back"`

    Whose codes are lost, nobody knows: for them a second one will be drawn. With --spend-all entities in the ledger
    keep the codes they have and get no other; those that are not in it start from nothing.
    """
    from privee.party.ledger import PartyLedger

    address, file = _settings(ledger, secret).places(folder)
    lost = PartyLedger.accept_loss(address, file, reason=reason, actor=actor(), spend_all=spend_all)
    print_json({"lost": lost, "spend_all": spend_all}) if as_json else tell(f"Accepted and logged: {lost}.")


def _settings(address: str | None, secret: Path | None) -> LedgerSettings:
    from privee.party.ledger.settings import LedgerSettings

    return LedgerSettings(address, secret)


def _numbers(found: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value:,g}" for name, value in found.items() if value is not None)

"""How passive parties are sealed, on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.vfl.joint_data import JointData
    from privee.vfl.seal import Seal

SealOption = Annotated[
    list[str] | None,
    typer.Option(
        "--seal",
        help="Seal the passive parties: `codes=8`, `codes=8,epsilon=4`, `codes=8,learn=own`, `signs=3`; "
        "`PARTY:codes=8` seals one. Repeatable.",
    ),
]
SensitiveOption = Annotated[
    list[str] | None,
    typer.Option(help="With --seal: a private column that codes should tell little of, COLUMN or PARTY:COLUMN."),
]


def check_seal(text: str) -> None:
    """Refuse what is no seal before anything else is done."""
    from privee.vfl.seal.settings import parse_seal

    parse_seal(text.partition(":")[2] or text)


def given_seals(seal: Sequence[str] | None, sensitive: Sequence[str] | None, data: JointData) -> dict[str, Seal]:
    """Each passive party's seal."""
    from privee.vfl.seal import parse_seals
    from privee.vfl.seal.records import check_sensitive

    if sensitive and not seal:
        raise PriveeError("--sensitive says what a seal's codes should tell little of: give --seal as well")
    seals = parse_seals(seal or (), list(data.columns)[1:], sensitive or ())
    check_sensitive(data.described, seals, sensitive or ())
    return seals

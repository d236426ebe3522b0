"""How passive parties are sealed, on the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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


StartOption = Annotated[
    Path | None,
    typer.Option(
        help="With --seal: a finished run of this project without seals to begin with, as `privee seal` does; trains "
        "twice as long."
    ),
]


def check_seal(text: str) -> None:
    """Refuse what is no seal before anything else is done."""
    from privee.vfl.seal.settings import parse_seal

    parse_seal(text.partition(":")[2] or text)


def given_seals(seal: Sequence[str] | None, sensitive: Sequence[str] | None, data: JointData) -> dict[str, Seal]:
    """Each passive party's seal."""
    from privee.vfl.seal.records import check_sensitive

    seals = _parsed(seal, sensitive, list(data.columns)[1:])
    check_sensitive(data.described, seals, sensitive or ())
    return seals


def job_seals(
    seal: Sequence[str] | None, sensitive: Sequence[str] | None, names: Sequence[str], source: Mapping[str, Any]
) -> dict[str, Seal]:
    """The same for a federated job, where every site is told its own sensitive columns alone.

    Who has which columns of a dataset is known here; of own tables a site says by itself what it has not.
    """
    seals = _parsed(seal, sensitive, names[1:])
    if not sensitive:
        return seals
    if "dataset" in source:
        return _owned(seals, sensitive, source)
    for name in sensitive:
        party, colon, _ = name.partition(":")
        if (colon and party not in seals) or (not colon and len(seals) > 1):
            raise PriveeError(f"whose column is {name!r}? Give PARTY:COLUMN, one of {', '.join(seals)}")
    return seals


def _parsed(seal: Sequence[str] | None, sensitive: Sequence[str] | None, passive: Sequence[str]) -> dict[str, Seal]:
    from privee.vfl.seal import parse_seals

    if sensitive and not seal:
        raise PriveeError("--sensitive says what a seal's codes should tell little of: give --seal as well")
    return parse_seals(seal or (), passive, sensitive or ())


def _owned(seals: Mapping[str, Seal], sensitive: Sequence[str], source: Mapping[str, Any]) -> dict[str, Seal]:
    import dataclasses

    from privee.data.columns import columns_of_dataset
    from privee.data.datasets import load_dataset
    from privee.data.partition import Partition
    from privee.vfl.seal.records import check_sensitive

    described = columns_of_dataset(load_dataset(source["dataset"]), Partition.from_dict(dict(source["partition"])))
    check_sensitive(described, seals, sensitive)
    own = {party: {column.name for column in described if column.party == party} for party in seals}
    return {
        party: dataclasses.replace(seal, sensitive=tuple(name for name in seal.sensitive if name in own[party]))
        for party, seal in seals.items()
    }

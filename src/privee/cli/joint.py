"""Options that train, predict and tune share: where the joint data comes from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.vfl.joint_data import JointData

How = Literal["contiguous", "random", "strips"]


def named_files(parties: Sequence[str] | None) -> dict[str, Path]:
    """`bank=bank.csv` options as names and paths."""
    files: dict[str, Path] = {}
    for option in parties or ():
        name, equals, path = option.partition("=")
        if not equals or not name or not path:
            raise PriveeError(f"--party takes NAME=FILE, got {option!r}")
        if name in files:
            raise PriveeError(f"party {name} is named twice")
        files[name] = Path(path)
    return files


def id_columns(options: Sequence[str], parties: Sequence[str]) -> dict[str, str]:
    """`customer_id` for all parties, or `bank:customer_id` for one."""
    chosen = dict.fromkeys(parties, "")
    for option in options:
        party, colon, column = option.partition(":")
        if colon and party in chosen:
            chosen[party] = column
        else:
            chosen = {name: found or option for name, found in chosen.items()}
    missing = [name for name, column in chosen.items() if not column]
    if missing:
        raise PriveeError(f"which column holds the ids of {', '.join(missing)}? Give --id COLUMN or --id PARTY:COLUMN")
    return chosen


def dataset_data(
    name: str, *, parties: int, fraction: float | None, how: How | None, seed: int, data_dir: Path | None
) -> JointData:
    """A named dataset, its columns given to parties."""
    from privee.data.datasets import load_dataset
    from privee.vfl.experiment import partition_of
    from privee.vfl.joint_data import from_dataset

    dataset = load_dataset(name, data_dir=data_dir, seed=seed)
    chosen = how or ("strips" if dataset.image_shape else "contiguous")
    partition = partition_of(dataset, parties=parties, adversary_fraction=fraction, how=chosen, seed=seed)
    return from_dataset(dataset, partition)


def table_data(
    files: dict[str, Path], *, active: str | None, ids: Sequence[str], label: str | None, test_share: float, seed: int
) -> JointData:
    """The parties' own tables, aligned and encoded."""
    from privee.vfl.joint_data import from_tables

    if active is None or active not in files:
        raise PriveeError(f"which party holds the labels? Give --active, one of {', '.join(files)}")
    if label is None:
        raise PriveeError(f"which column of {active} holds the labels? Give --label COLUMN")
    columns = id_columns(ids, list(files))
    return from_tables(files, active=active, id_columns=columns, label=label, test_share=test_share, seed=seed)

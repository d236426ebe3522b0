"""What commands on joint models share: where the data comes from, and how a training ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from privee.cli.output import out, print_json, progress_bar
from privee.data.partition import How
from privee.errors import PriveeError
from privee.registry import modules_of

if TYPE_CHECKING:
    from privee.vfl.experiment import TrainingOutcome
    from privee.vfl.joint_data import JointData

_NAMES = [module.rpartition(".")[2].replace("_", "-") for module in modules_of("privee.vfl.models")]
MODEL_NAMES = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"
"""The models there are, for help texts; their files are not loaded."""


def named_files(options: Sequence[str] | None) -> dict[str, Path]:
    """`bank=bank.csv` options as names and paths."""
    files: dict[str, Path] = {}
    for option in options or ():
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            raise PriveeError(f"--party takes NAME=FILE, got {option!r}")
        if name in files:
            raise PriveeError(f"party {name} is given twice")
        files[name] = Path(path)
    return files


def id_columns(options: Sequence[str], parties: Collection[str]) -> dict[str, str]:
    """`bank:customer_id` is for bank alone if there is such a party; otherwise the text is a column's name for all."""
    for_all = [text for text in options if ":" not in text or text.partition(":")[0] not in parties]
    for_one = dict(text.split(":", 1) for text in options if text not in for_all)
    if len(for_all) > 1:
        raise PriveeError("--id names more than one column for all parties; use --id PARTY:COLUMN")
    chosen = dict.fromkeys(parties, for_all[0]) | for_one if for_all else for_one
    missing = [name for name in parties if name not in chosen]
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

    with progress_bar(f"fetching {name}") as progress:
        dataset = load_dataset(name, data_dir=data_dir, seed=seed, progress=progress)
    partition = partition_of(dataset, parties=parties, adversary_fraction=fraction, how=how, seed=seed)
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
    columns = id_columns(ids, files)
    with progress_bar("aligning") as progress:
        return from_tables(
            files, active=active, id_columns=columns, label=label, test_share=test_share, seed=seed, progress=progress
        )


def show_outcome(outcome: TrainingOutcome, as_json: bool, kind: str = "") -> None:
    """How a training ended; `kind` is what was trained."""
    if as_json:
        print_json(outcome.as_dict())
        return
    out.print(f"{outcome.run}: {kind + ', ' if kind else ''}{outcome.epochs} epochs", markup=False)
    out.print(f"accuracy {outcome.test.accuracy:.2%} on {outcome.test.rows:,} test records, ", end="")
    out.print(f"{outcome.train.accuracy:.2%} on {outcome.train.rows:,} training records")

"""The models of the leaderboard: a dataset, a kind of model, and a protection that is part of it, or none."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

from privee.audit import Subject, subject_from_run
from privee.bench.protections import train_protected
from privee.data.datasets import Dataset, dataset_info, load_dataset
from privee.data.partition import Part, Partition
from privee.version import __version__
from privee.vfl.defaults import LEFT_OPEN, filled_settings
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.run_format import is_finished_run
from privee.vfl.training import TrainingSettings

PICTURES = {
    ("digits", "mlp"): TrainingSettings(epochs=60, scaling="standard", schedule="cosine"),
    ("mnist", "mlp"): TrainingSettings(epochs=15, schedule="cosine"),
}
"""Other models are trained as `privee train` would choose for a table."""
PASSIVE_COLUMNS = {"adult": ("marital-status", "relationship", "capital-gain", "capital-loss", "occupation")}
"""Of other datasets the passive party has half of the columns; with a plain half of Adult's it adds nothing."""
SPLIT = "two parties, half of the columns each"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """One model.

    Attributes:
        dataset, model: their names.
        protection: KIND:SPEC; empty for none.
        seed: of the split into training and test rows, and of the training.
    """

    dataset: str
    model: str
    protection: str = ""
    seed: int = 0

    @property
    def name(self) -> str:
        """For tables."""
        return ", ".join(part for part in (self.dataset, self.model, self.protection) if part)

    @property
    def plain(self) -> Case:
        """The same without its protection."""
        return dataclasses.replace(self, protection="")

    def settings(self) -> dict[str, Any]:
        """All that makes this model what it is, ready for JSON."""
        chosen = PICTURES.get((self.dataset, self.model))
        training = "as `privee train` chooses for a table" if chosen is None else chosen.as_dict()
        passive = list(PASSIVE_COLUMNS.get(self.dataset, ()))
        return dataclasses.asdict(self) | {"training": training, "passive": passive, "privee": __version__}

    @property
    def key(self) -> str:
        """The same for the same model."""
        digest = hashlib.sha256(json.dumps(self.settings(), sort_keys=True).encode()).hexdigest()
        return f"{self.dataset}-{self.model}-{digest[:12]}"


def train_case(case: Case, models: Path, data_dir: Path | None) -> None:
    """Train it into its folder, and first the model that it protects; one that is there is left as it is."""
    run = models / case.key
    if is_finished_run(run):
        return
    if case.protection:
        train_case(case.plain, models, data_dir)
        train_protected(case.protection, models / case.plain.key, run, data_dir)
        return
    data = joint_data(case, data_dir)
    train_run(run, data, case.model, _training(case, data))


def subject_of(case: Case, models: Path, data_dir: Path | None) -> Subject:
    """What is attacked, trained if it has to be."""
    train_case(case, models, data_dir)
    return dataclasses.replace(subject_from_run(models / case.key, data_dir=data_dir), name=case.name)


def joint_data(case: Case, data_dir: Path | None) -> JointData:
    """The dataset, its columns given to an active and a passive party."""
    dataset = load_dataset(case.dataset, data_dir=data_dir, seed=case.seed)
    if case.dataset in PASSIVE_COLUMNS:
        return from_dataset(dataset, _named_split(dataset, PASSIVE_COLUMNS[case.dataset]))
    return from_dataset(dataset, partition_of(dataset, parties=2, adversary_fraction=None, how=None, seed=case.seed))


def check_datasets(names: tuple[str, ...]) -> None:
    """Refuse a dataset that there is not."""
    for name in names:
        dataset_info(name)


def _named_split(dataset: Dataset, passive: tuple[str, ...]) -> Partition:
    """These original columns are the passive party's, encoded ones together."""
    places: dict[bool, list[int]] = {False: [], True: []}
    for name, group in zip(dataset.column_names, dataset.groups, strict=True):
        places[name in passive] += group
    named = zip(("active", "passive-1"), places.values(), strict=True)
    return Partition(tuple(Part(name, tuple(some), (len(some),)) for name, some in named), dataset.n_features)


def _training(case: Case, data: JointData) -> TrainingSettings:
    chosen = PICTURES.get((case.dataset, case.model))
    if chosen is not None:
        return dataclasses.replace(chosen, seed=case.seed)
    open_ones = TrainingSettings(seed=case.seed)
    return filled_settings(
        open_ones, LEFT_OPEN, model=case.model, rows=len(data.train), n_classes=len(data.class_names)
    )

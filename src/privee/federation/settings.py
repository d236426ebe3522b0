"""What a job is to do, on which data, and what a site keeps to itself: a file for everybody and one for each site."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.data.datasets import load_dataset
from privee.data.partition import How
from privee.errors import PriveeError, SettingError
from privee.federation.lifetime import Lifetime
from privee.federation.wire.tensors import Packing
from privee.vfl.defaults import LEFT_OPEN, filled_settings
from privee.vfl.embedding_defenses import EmbeddingDefense
from privee.vfl.embedding_defenses.given import check_combination, split_seals
from privee.vfl.embedding_defenses.registry import saved_embedding_defense
from privee.vfl.experiment import partition_of
from privee.vfl.joint_model import COORDINATOR
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.sealing import longer
from privee.vfl.training import TrainingSettings


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobSettings:
    """What is trained, by whom and how; every site and the coordinator see all of this.

    Attributes:
        run: name of the run, a folder name; a job with the same name goes on from its last checkpoint.
        parties: sites in the model's order; the first is the active party.
        model: name of the architecture.
        training: as for `privee train`.
        source: `{"dataset": ..., "partition": ..., "shares": ...}` or `{"tables": {"test_share": ...}}`.
        answer_seconds: a site that takes longer for a training step ends the job.
        align_seconds: the same for a step of the alignment, and for reading data.
        start_seconds: until all sites must be there.
        packing: how embeddings and their gradients travel.
        left_open: settings of the training that every role chooses alike, once it knows how many rows and classes there
            are (see `privee.vfl.defaults`).
        seals: of the passive parties that are sealed, by name.
        embedding_defenses: of the passive parties that have one, by name; HashVFL becomes the seal that it is.
        start_from: name of a finished run of the same sites, which a sealed one begins with, as `privee seal` does.
    """

    run: str
    parties: tuple[str, ...]
    model: str
    training: TrainingSettings
    source: Mapping[str, Any]
    answer_seconds: float = 30.0
    align_seconds: float = 600.0
    start_seconds: float = 120.0
    packing: Packing = Packing.EXACT
    left_open: tuple[str, ...] = ()
    seals: Mapping[str, Seal] = dataclasses.field(default_factory=dict)
    embedding_defenses: Mapping[str, EmbeddingDefense] = dataclasses.field(default_factory=dict)
    start_from: str | None = None

    def __post_init__(self) -> None:
        seals, defenses = split_seals(self.seals, self.embedding_defenses)
        object.__setattr__(self, "seals", seals)
        object.__setattr__(self, "embedding_defenses", defenses)
        check_combination(defenses, seals, self.parties)
        if not set(self.left_open) <= set(LEFT_OPEN):
            raise SettingError(f"what can be left open is {', '.join(LEFT_OPEN)}")
        if self.start_from is not None and (not self.seals or self.start_from == self.run):
            raise SettingError("only a run with seals starts from a finished one, and under a name of its own")
        for name in (self.run, *self.parties, *([] if self.start_from is None else [self.start_from])):
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}", name):
                raise SettingError(f"names of runs and sites are letters, digits, '-' and '_' only, not {name!r}")
        if len(set(self.parties)) < 2 or len(set(self.parties)) != len(self.parties):
            raise SettingError("a joint model needs two or more sites with different names")
        if {COORDINATOR, "server"} & set(self.parties):
            raise SettingError("no site may be called coordinator or server")
        for name in self.seals:
            if name not in self.parties[1:]:
                raise SettingError(f"only a passive party can be sealed, and {name[:40]!r} is none")
        for name in ("answer_seconds", "align_seconds", "start_seconds"):
            if not 0 < getattr(self, name) < 1e6:
                raise SettingError(f"{name} must be above 0, got {getattr(self, name)!r}")

    @property
    def active(self) -> str:
        """The party with the labels."""
        return self.parties[0]

    def training_on(self, rows: int, n_classes: int) -> TrainingSettings:
        """How to train, with what was left open as it suits so many training rows and classes.

        A sealed run that starts from a finished one takes twice as long, as with `privee seal`.
        """
        found = filled_settings(self.training, self.left_open, model=self.model, rows=rows, n_classes=n_classes)
        return found if self.start_from is None else longer(found)

    @property
    def fingerprint(self) -> str:
        """Of all that decides the result: runs with the same name must agree in it."""
        kept = {key: value for key, value in self.as_dict().items() if not key.endswith("_seconds")}
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON; what came later only if it is there, so that older runs still agree."""
        plain = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        left, seals, defenses = plain.pop("left_open"), plain.pop("seals"), plain.pop("embedding_defenses")
        start = plain.pop("start_from")
        return (
            plain
            | ({"left_open": list(left)} if left else {})
            | ({"seals": {name: seal.as_dict() for name, seal in seals.items()}} if seals else {})
            | ({"embedding_defenses": {name: one.settings() for name, one in defenses.items()}} if defenses else {})
            | ({"start_from": start} if start is not None else {})
            | {
                "parties": list(self.parties),
                "training": self.training.as_dict(),
                "source": dict(self.source),
                "packing": str(self.packing),
            }
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> JobSettings:
        """The inverse of `as_dict`."""
        try:
            more = {
                "parties": tuple(values["parties"]),
                "training": TrainingSettings(**values["training"]),
                "packing": Packing(values.get("packing", "exact")),
                "left_open": tuple(values.get("left_open", ())),
                "seals": {name: Seal.from_dict(one) for name, one in dict(values.get("seals", {})).items()},
                "embedding_defenses": {
                    name: saved_embedding_defense(one)
                    for name, one in dict(values.get("embedding_defenses", {})).items()
                },
            }
            return cls(**{**values, **more})
        except PriveeError:
            raise
        except (KeyError, TypeError, ValueError):
            raise PriveeError("these are not the settings of a federated job") from None


@dataclasses.dataclass(frozen=True, kw_only=True)
class SiteSettings:
    """What one site knows for itself, in a file that stays there.

    Attributes:
        folder: where its parts of models are kept.
        data: its own table, CSV or Parquet; None for a dataset.
        id_column, label: columns of that table; a label column is named at the active party alone.
        data_dir: where datasets are looked for.
        seal: what it insists on, such as `codes=8,epsilon=4`: it takes part in no job that seals it less tightly.
        most_bits, most_epsilon: what its codes may tell of a record over all sealed runs, ever; it then takes part in
            no job without a seal for it.
    """

    folder: Path
    data: Path | None = None
    id_column: str | None = None
    label: str | None = None
    data_dir: Path | None = None
    seal: str | None = None
    most_bits: str | None = None
    most_epsilon: str | None = None

    def __post_init__(self) -> None:
        if self.seal is not None:
            parse_seal(self.seal)
        _ = self.lifetime

    @property
    def lifetime(self) -> Lifetime:
        """The most that its codes may tell, over all runs."""
        return Lifetime.of_text(self.most_bits, self.most_epsilon)

    @property
    def insists(self) -> bool:
        """Whether nothing but codes may leave it."""
        return self.seal is not None or bool(self.lifetime)

    def write(self, local: Path, site: str) -> Path:
        """Into a kit's `local` folder."""
        plain = {key: None if value is None else str(value) for key, value in vars(self).items()}
        write_json(site_file(local, site), plain)
        return site_file(local, site)

    @classmethod
    def read(cls, local: Path, site: str, folder: Path) -> SiteSettings:
        """From a kit's `local` folder; without a file there, parts are kept in `folder` and data is a dataset."""
        path = site_file(local, site)
        if not path.exists():
            return cls(folder=folder)
        saved = read_json(path)
        known = {field.name for field in dataclasses.fields(cls)}
        if not isinstance(saved, dict) or not set(saved) <= known:
            raise PriveeError(f"{path} may only say {', '.join(sorted(known))}")
        if not all(value is None or isinstance(value, str) for value in saved.values()):
            raise PriveeError(f"{path} may only have strings and nulls")
        paths = {key: Path(saved[key]) for key in ("folder", "data", "data_dir") if saved.get(key)}
        words = {key: saved.get(key) for key in ("id_column", "label", "seal", "most_bits", "most_epsilon")}
        given: dict[str, Any] = {"folder": folder} | words | paths
        return cls(**given)


def site_file(local: Path, site: str) -> Path:
    """Where a site's own settings are."""
    return local / f"privee-{site}.json"


def dataset_source(
    name: str,
    *,
    parties: int,
    adversary_fraction: float | None = None,
    how: How | None = None,
    seed: int = 0,
    data_dir: Path | None = None,
) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Site names and source of a dataset whose columns are shared out as `privee train` does it."""
    dataset = load_dataset(name, data_dir=data_dir, seed=seed)
    partition = partition_of(dataset, parties=parties, adversary_fraction=adversary_fraction, how=how, seed=seed)
    source = {"dataset": dataset.name, "partition": partition.as_dict(), "shares": partition.describe()}
    return tuple(part.name for part in partition.parts), source


def table_source(test_share: float = 0.2) -> Mapping[str, Any]:
    """The sites' own tables, aligned inside the job."""
    return {"tables": {"test_share": test_share}}


def table_sites(
    files: Mapping[str, Path], id_columns: Mapping[str, str], active: str, label: str | None
) -> dict[str, SiteSettings]:
    """Settings of sites whose tables are on this machine."""
    if active in files and label is None:
        raise PriveeError(f"which column of {active} holds the labels? Give --label COLUMN")
    return {
        site: SiteSettings(
            folder=Path(),
            data=path.resolve(),
            id_column=id_columns[site],
            label=label if site == active else None,
        )
        for site, path in files.items()
    }

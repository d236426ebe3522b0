"""The files of a run that others read, which are written and read here and nowhere else.

`config.json` says what was trained, on what and how; `party.json` what a party must know to serve its part. `runs` is
the folder around them.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from privee.atomic import read_json, write_json
from privee.data.partition import Part
from privee.data.tables import ALIGNED
from privee.errors import PriveeError
from privee.given import RUN_FILE
from privee.version import __version__
from privee.vfl.embedding_defenses.base import EmbeddingDefense
from privee.vfl.embedding_defenses.registry import saved_embedding_defense
from privee.vfl.seal.settings import Seal

FORMAT = 1
PARTY_FORMAT = 1
CONFIG, METRICS, PARTY, WEIGHTS = RUN_FILE, "metrics.jsonl", "party.json", "model.safetensors"
UTILITY = "utility.json"
PART_FILES = frozenset({WEIGHTS, PARTY, "preprocessing.json", "labels.json", "unlabelled.json", ALIGNED})
"""What a party's part of a run can hold; their checksums are in the config once the run is finished."""


def run_config(
    *,
    model: str,
    parties: Sequence[str],
    classes: Sequence[str],
    rows: tuple[int, int],
    data: Mapping[str, Any],
    training: Mapping[str, Any],
    seals: Mapping[str, Seal] | None = None,
    embedding_defenses: Mapping[str, EmbeddingDefense] | None = None,
) -> dict[str, Any]:
    """What a run's config says of it, the same for a local training and a federated one.

    Args:
        model: name of the architecture.
        parties: their names, the active one first.
        classes: names of the classes.
        rows: how many are for training and for testing.
        data: where the columns come from: a dataset and its partition, or the parties' tables.
        training: the settings.
        seals: of the parties that are sealed.
        embedding_defenses: of the parties that have one.
    """
    defended = {name: one.settings() for name, one in (embedding_defenses or {}).items()}
    sealed = {"seals": {name: seal.as_dict() for name, seal in seals.items()}} if seals else {}
    return {
        "model": model,
        "parties": list(parties),
        "classes": list(classes),
        "rows": {"train": rows[0], "test": rows[1]},
        "data": dict(data),
        "training": dict(training),
        **sealed,
        **({"embedding_defenses": defended} if defended else {}),
    }


def seals_of(config: Mapping[str, Any]) -> dict[str, Seal]:
    """The seals of a run's parties, by name."""
    return {name: Seal.from_dict(one) for name, one in config.get("seals", {}).items()}


def embedding_defenses_of(config: Mapping[str, Any]) -> dict[str, EmbeddingDefense]:
    """The embedding defenses of a run's parties, by name."""
    return {name: saved_embedding_defense(one) for name, one in config.get("embedding_defenses", {}).items()}


def is_run(path: Path) -> bool:
    """Whether a folder holds a run, finished or not."""
    return (path / CONFIG).is_file()


def is_finished_run(path: Path) -> bool:
    """Whether a folder holds a run with its final weights."""
    return is_run(path) and "files" in read_config(path)


def write_config(path: Path, config: Mapping[str, Any]) -> None:
    """Write a run's config, with the format and the version that made it."""
    write_json(path / CONFIG, {"format": FORMAT, "privee": __version__} | dict(config))


def read_config(path: Path) -> dict[str, Any]:
    """Read a run's config."""
    config: dict[str, Any] = read_json(path / CONFIG)
    if config.get("format") != FORMAT:
        raise PriveeError(f"{path} was made by another version of privee (run format {config.get('format')})")
    return config


def same_config(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether a run on disk is the one that is wanted, finished or not."""
    made = json.loads(json.dumps({"format": FORMAT, "privee": __version__} | dict(wanted)))
    return {key: value for key, value in found.items() if key != "files"} == made


def party_file(
    *,
    party: str,
    active: bool,
    model: str,
    shape: Sequence[int],
    n_classes: int,
    source: Mapping[str, Any],
    seal: Seal | None = None,
    embedding_defense: EmbeddingDefense | None = None,
) -> dict[str, Any]:
    """What `party.json` says of one party: nothing about another's columns.

    Args:
        party: its name.
        active: whether it is the active party.
        model: name of the architecture.
        shape: of one row of its columns, encoded.
        n_classes: of the joint model.
        source: the id column of its table, or the dataset, its split and this party's part of it.
        seal: if it is sealed.
        embedding_defense: if it has one.
    """
    about = {"format": PARTY_FORMAT, "party": party, "active": active, "model": model, "shape": list(shape)}
    more = {"seal": seal.as_dict()} if seal else {}
    more |= {"embedding_defense": embedding_defense.settings()} if embedding_defense else {}
    return about | {"n_classes": n_classes, **source, **more}


@dataclasses.dataclass(frozen=True)
class PartyDescription:
    """A party's part of a joint model.

    Attributes:
        party: Its name.
        active: Whether it is the active party.
        model: Name of the architecture.
        shape: Of one row of its columns, encoded.
        n_classes: Of the joint model.
        id_column: In its own table; None for a dataset.
        delimiter: Of its own CSV file, where it had to be given.
        dataset, seed, part: Name and split of the dataset, and which features of it are this party's.
        seal: If it is sealed.
        embedding_defense: If it has one.
    """

    party: str
    active: bool
    model: str
    shape: tuple[int, ...]
    n_classes: int
    id_column: str | None = None
    delimiter: str = ""
    dataset: str | None = None
    seed: int = 0
    part: Part | None = None
    seal: Seal | None = None
    embedding_defense: EmbeddingDefense | None = None

    @property
    def features(self) -> int:
        """How many numbers a row holds."""
        return math.prod(self.shape)

    @classmethod
    def read(cls, folder: Path) -> PartyDescription:
        """From a party's folder in a run."""
        path = folder / PARTY
        if not path.is_file():
            raise PriveeError(
                f"{folder} holds no {PARTY}: give runs/RUN/parties/NAME; for a run of an older privee, "
                "train again or run `privee party describe RUN`"
            )
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            if saved["format"] != PARTY_FORMAT:
                raise PriveeError(f"{path} is of format {saved['format']!r}; this privee reads {PARTY_FORMAT}")
            return cls._from_dict(saved)
        except PriveeError:
            raise
        except (KeyError, TypeError, ValueError, RecursionError):
            raise PriveeError(f"{path} is damaged, or was changed by hand") from None

    @classmethod
    def _from_dict(cls, saved: dict[str, Any]) -> PartyDescription:
        part = saved.get("part")
        shape = tuple(saved["shape"])
        if not shape or not all(type(side) is int and side > 0 for side in (*shape, saved["n_classes"])):
            raise TypeError
        if not all(isinstance(saved[key], str) for key in ("party", "model")):
            raise TypeError
        return cls(
            party=saved["party"],
            active=saved["active"] is True,
            model=saved["model"],
            shape=shape,
            n_classes=saved["n_classes"],
            id_column=saved.get("id_column"),
            delimiter=str(saved.get("delimiter", "")),
            dataset=saved.get("dataset"),
            seed=int(saved.get("seed", 0)),
            part=part and Part(str(part["name"]), tuple(part["features"]), tuple(part["shape"])),
            seal=Seal.from_dict(saved["seal"]) if saved.get("seal") else None,
            embedding_defense=saved_embedding_defense(found) if (found := saved.get("embedding_defense")) else None,
        )

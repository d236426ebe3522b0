"""`party.json`: what a party must know to serve its part of a joint model."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privee.data.partition import Part
from privee.errors import PriveeError

FORMAT = 1


@dataclass(frozen=True)
class PartyDescription:
    """A party's part of a joint model.

    Attributes:
        party: Its name.
        active: Whether it is the active party.
        model: Name of the architecture.
        shape: Of one row of its columns, encoded.
        n_classes: Of the joint model.
        id_column: In its own table; None for a dataset.
        dataset, seed, part: Name and split of the dataset, and which features of it are this party's.
    """

    party: str
    active: bool
    model: str
    shape: tuple[int, ...]
    n_classes: int
    id_column: str | None = None
    dataset: str | None = None
    seed: int = 0
    part: Part | None = None

    @property
    def features(self) -> int:
        """How many numbers a row holds."""
        return math.prod(self.shape)

    @classmethod
    def read(cls, folder: Path) -> PartyDescription:
        """From a party's folder in a run."""
        path = folder / "party.json"
        if not path.is_file():
            raise PriveeError(
                f"{folder} holds no party.json: give runs/RUN/parties/NAME; for a run of an older privee, "
                "train again or run `privee party describe RUN`"
            )
        try:
            saved = json.loads(path.read_text(encoding="utf-8"))
            if saved["format"] != FORMAT:
                raise PriveeError(f"{path} is of format {saved['format']!r}; this privee reads {FORMAT}")
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
            dataset=saved.get("dataset"),
            seed=int(saved.get("seed", 0)),
            part=part and Part(str(part["name"]), tuple(part["features"]), tuple(part["shape"])),
        )

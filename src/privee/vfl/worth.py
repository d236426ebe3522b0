"""What a joint model is worth to the active party, measured on test records once it is trained, and kept with the run.

`utility.json` in a run's folder is written and read here and nowhere else. Runs of an older privee, and federated ones,
whose coordinator has neither labels nor columns, do without.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch

from privee.atomic import read_json, write_json
from privee.errors import PriveeError
from privee.scores import Utility, majority_of, utility_of
from privee.vfl.joint_data import JointData
from privee.vfl.joint_model import JointModel
from privee.vfl.own_columns_alone import OwnColumnsUtility, own_columns_utility
from privee.vfl.run_format import UTILITY

FORMAT = 1
AS_GOOD = 0.005
"""How far the own columns' AUC may be below the joint model's, and the others still add nothing."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelWorth:
    """Three answers to the same task, on the same test records.

    Attributes:
        active: the active party.
        positive_class: the one whose F1 and order are measured, with two classes; else None.
        utility: of the joint model's scores.
        own_columns: of the active party's columns alone.
        majority: of naming the most frequent class always.
    """

    active: str
    positive_class: str | None
    utility: Utility
    own_columns: OwnColumnsUtility
    majority: Utility

    @property
    def adds_nothing(self) -> bool:
        """Whether the own columns alone put records in order as well as the joint model does."""
        joint, alone = self.utility.auc, self.own_columns.auc
        return joint is not None and alone is not None and alone >= joint - AS_GOOD

    def in_brief(self) -> dict[str, dict[str, float | None]]:
        """Accuracy and AUC of each."""
        each = {"utility": self.utility, "own_columns": self.own_columns, "majority": self.majority}
        return {name: {"accuracy": one.accuracy, "auc": one.auc} for name, one in each.items()}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def measure_worth(joint: JointModel, data: JointData) -> ModelWorth:
    """Measure a trained model on the test rows of what it was trained on."""
    active, n_classes = next(iter(data.columns)), len(data.class_names)
    truth = data.labels[data.test]
    return ModelWorth(
        active=active,
        positive_class=data.class_names[-1] if n_classes == 2 else None,
        utility=utility_of(joint.scores(torch.from_numpy(data.test)), truth),
        own_columns=own_columns_utility(
            data.columns[active], data.labels, train=data.train, test=data.test, n_classes=n_classes
        ),
        majority=majority_of(truth, n_classes),
    )


def write_worth(run: Path, worth: ModelWorth) -> None:
    """Keep it with the run."""
    write_json(run / UTILITY, {"format": FORMAT} | worth.as_dict())


def read_worth(run: Path) -> ModelWorth | None:
    """What was kept with the run; None where there is nothing."""
    path = run / UTILITY
    if not path.is_file():
        return None
    saved = read_json(path)
    try:
        if saved["format"] != FORMAT:
            raise PriveeError(f"{path} is of format {saved['format']!r}; this privee reads {FORMAT}")
        return ModelWorth(
            active=str(saved["active"]),
            positive_class=saved["positive_class"],
            utility=Utility(**saved["utility"]),
            own_columns=OwnColumnsUtility(**saved["own_columns"]),
            majority=Utility(**saved["majority"]),
        )
    except (KeyError, TypeError):
        raise PriveeError(f"{path} is damaged, or was changed by hand") from None

"""What a seal costs and what it keeps: accuracy against what an attacker without limits learns.

    PRIVEE_DATA_DIR=... python benchmarks/sealed_frontier.py [--only digits] [--minutes 30] [--show] [--page]

Halves of the columns (of Adult a split in which the passive party adds something), an mlp, at most 20,000 training
rows, three seeds: codes from 2 to 256, epsilon 1, 2, 4, 8 and none, learned with the task (from the model that is not
sealed) or from the party's columns alone, HashVFL's signs, the unsealed model (also with the hidden layer that sealed
models have), own columns alone (in the same model, and in the best of two others), and Ordered-DP before the unsealed
model. `left`: error of the best regression of the private columns from the code and the own columns, as a share of
what is left without the code.

Every cell is stored in benchmarks/results/sealed_frontier.json once it is measured; what matters most comes first,
and a run that was interrupted goes on with those that are missing. --show only prints.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._sealed import cases, leaks, tables
from benchmarks._shared.cells import Cell, Cells, cell_options
from privee.audit import Grid, run_grid
from privee.audit.sources import _subject
from privee.scores import utility_of
from privee.vfl.experiment import train_run
from privee.vfl.own_columns_alone import own_columns_utility
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.sealing import longer

RESULTS = Path(__file__).parent / "results" / "sealed_frontier.json"
SEEDS = (0, 1, 2)
PARTY = "passive-1"
FIRST = ("codes=8", "codes=16", "codes=4,epsilon=4")
SECOND = ("codes=8,learn=own", "codes=64", "codes=4", "codes=8,epsilon=4", "signs=3")
PLAIN = ("own columns, best", "own columns", "unsealed", "unsealed, hidden layer")
RELEASED = "ordered-dp:epsilon=4"
THEN = (
    *("codes=2", "codes=32", "codes=256", "signs=4", "signs=6", "codes=16,learn=own"),
    *(f"codes={codes},epsilon={epsilon}" for epsilon in (1, 2, 8) for codes in (4, 8)),
    *("codes=2,epsilon=4", "codes=16,epsilon=4"),
    *(f"codes={codes},learn=own" for codes in (2, 4, 32, 64, 256)),
    *(f"codes={codes},epsilon={epsilon},learn=own" for epsilon in (4, 1, 2, 8) for codes in (4, 8)),
)


class SealedCell(Cell):
    def measured(self, folder: Path) -> dict[str, Any]:
        data = cases.data_of(self.dataset, self.seed)
        if self.spec in ("own columns", "unsealed, hidden layer"):
            hidden = self.spec != "own columns"
            worth = utility_of(
                cases.trained(self.dataset, self.seed, blind=not hidden, hidden=hidden).scores(
                    torch.from_numpy(data.test)
                ),
                data.labels[data.test],
            )
            return {"accuracy": worth.accuracy, "auc": worth.auc}
        if self.spec == "own columns, best":
            own = own_columns_utility(
                data.columns["active"], data.labels, train=data.train, test=data.test, n_classes=len(data.class_names)
            )
            return {"accuracy": own.accuracy, "auc": own.auc}
        teacher = cases.unsealed(self.dataset, self.seed, folder)
        if self.spec == RELEASED:
            return released(teacher, data, self.seed)
        if self.spec == "unsealed":
            passive = teacher.parties[1]
            rows = torch.arange(len(data.labels))
            told = torch.cat([passive._embed(part, train=False) for part in rows.split(4096)]).numpy()
            return self._figures(teacher, told.astype(np.float64))
        path = folder / self.key.replace(", ", "-").replace(" ", "")
        shutil.rmtree(path, ignore_errors=True)
        settings = cases.settings_of(self.dataset, self.seed)
        seal = parse_seal(self.spec)
        sealed = _sealed(path, data, longer(settings), seal, teacher)
        codes = sealed.parties[1].seal_records()
        shutil.rmtree(path, ignore_errors=True)
        return self._figures(sealed, np.eye(seal.codes)[codes]) | {"used": len(np.unique(codes))}

    def _figures(self, joint: Any, told: np.ndarray) -> dict[str, Any]:
        data = cases.data_of(self.dataset, self.seed)
        worth = utility_of(joint.scores(torch.from_numpy(data.test)), data.labels[data.test])
        flat = [values.reshape(len(values), -1).astype(np.float64) for values in data.columns.values()]
        names = [column.name for column in data.described for _ in column.places]
        found = leaks.left(*flat, told, data.train, data.test, self.seed)
        column = names[flat[0].shape[1] + found.pop("column")]
        return {"accuracy": worth.accuracy, "auc": worth.auc, **found, "column": column}


def released(model: Any, data: Any, seed: int) -> dict[str, Any]:
    """The model that is not sealed behind Ordered-DP: asked once and honestly, and ten times with chosen columns."""
    grid = Grid(
        defenses=(RELEASED,),
        attacks=("prior-informed", "learned-inversion", "boosted-trees"),
        attackers=("adaptive",),
        seeds=(seed,),
        questions=(10,),
        curves=False,
        own_columns=False,
        pictures=False,
    )
    (card,) = run_grid([_subject("model", "mlp", model, data)], grid, jobs=1).cards
    again = card.most_asked
    worst = [min((column.remaining for column in one.columns), default=None) for one in (card, again) if one]
    return {
        "accuracy": card.utility and card.utility.accuracy,
        "auc": card.utility and card.utility.auc,
        "left": card.guess_normalised,
        "worst": worst[0],
        "left_asked_ten_times": again and again.guess_normalised,
        "worst_asked_ten_times": worst[-1],
    }


def _sealed(path: Path, data: Any, settings: Any, seal: Seal, teacher: Any) -> Any:
    """Trained; the model itself, not only what is kept of it."""
    kept: list[Any] = []

    from privee.vfl import experiment

    made = experiment._joint_model

    def remember(*given: Any, **more: Any) -> Any:
        kept.append(made(*given, **more))
        return kept[-1]

    experiment._joint_model = remember
    try:
        train_run(path, data, "mlp", settings, seals={PARTY: seal}, teacher=teacher)
    finally:
        experiment._joint_model = made
    return kept[-1]


def cells(datasets: tuple[str, ...]) -> Iterator[SealedCell]:
    """What matters most first."""
    for specs in ((*PLAIN, *FIRST), SECOND, (RELEASED,), THEN):
        for seed in SEEDS:
            for dataset in datasets:
                if specs != (RELEASED,) or dataset != "mnist":  # hours, with so many columns
                    yield from (SealedCell(dataset, spec, seed) for spec in specs)


def main() -> None:
    parser = cell_options(__doc__, "docs/sealed_parties.md")
    folder = Path(tempfile.gettempdir()) / "privee-sealed-frontier"
    parser.add_argument("--folder", type=Path, default=folder, help="where models are kept [%(default)s]")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where cells are stored [%(default)s]")
    given = parser.parse_args()
    torch.set_num_threads(1)
    stored = Cells(given.results)
    if not (given.show or given.page):
        stored.measure(cells(tuple(given.only or cases.DATASETS)), given.folder, given.minutes)
    if given.page:
        tables.write_page(stored.found)
    tables.show(stored.found)


if __name__ == "__main__":
    main()

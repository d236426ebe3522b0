"""How much a party learns that may ask about a record again, with own columns of its choice.

    PRIVEE_DATA_DIR=... python benchmarks/chosen_columns.py [--models FOLDER] [--quick] [--only digits] [--show]

grid     error after 1, 2, 3, 5, 10 and 20 questions, by dataset, model and defense, three seeds; digits with 8 of 64
         columns unknown, the others with half of their columns; beside guesses without any answer
honest   what one question with the true own columns gives to the attacks that need no more
swapped  the passive party asks: it holds 8 columns of digits and is after the other 56
centres  which point of what is still possible should be taken for the estimate, on digits with a logistic model

Every cell is stored in benchmarks/results/chosen_columns.json as soon as it is measured; a run that was interrupted
goes on with those that are missing. --show only prints. --quick measures little, and stores nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._chosen_columns import centres, grid, tables

RESULTS = Path(__file__).parent / "results" / "chosen_columns.json"
SEEDS = (0, 1, 2)
COUNTS, PASSIVE_COUNTS = (1, 2, 3, 5, 10, 20), (1, 2, 5, 10)
QUICK = (1, 2)
PASSIVE_DEFENSES = ("ranking-only", "none")


@dataclasses.dataclass(frozen=True)
class Cell:
    part: str
    dataset: str
    model: str
    seed: int
    spec: str = ""

    @property
    def key(self) -> str:
        return ", ".join(word for word in (self.dataset, self.model, self.spec, f"seed {self.seed}") if word)

    def measured(self, models: Path, quick: bool) -> Any:
        of = grid.subject(self.dataset, self.model, models)
        if self.part == "swapped":
            of = of.swapped()
        sample = of.sample(self.seed, 12 if quick else grid.records_of(self.dataset), grid.AUXILIARY_ROWS)
        if self.part == "centres":
            return centres.compare(sample, self.seed)
        if self.part == "honest":
            return grid.measure_honest(sample, self.spec, self.seed)
        counts = PASSIVE_COUNTS if self.part == "swapped" else COUNTS
        return grid.measure(of, sample, self.spec, QUICK if quick else counts, self.seed)


def cells(seeds: tuple[int, ...]) -> Iterator[Cell]:
    """What matters most comes first, and one seed of everything before the next one."""
    for seed in seeds:
        for dataset, model in grid.SUBJECTS:
            yield from (Cell("grid", dataset, model, seed, spec) for spec in grid.DEFENSES)
            if dataset == "digits":
                yield from (Cell("swapped", dataset, model, seed, spec) for spec in PASSIVE_DEFENSES)
            yield from (Cell("honest", dataset, model, seed, spec) for spec in grid.DEFENSES)
        if seed == 0:
            yield Cell("centres", "digits", "logistic", 0)


def measure(
    todo: list[Cell], stored: dict[str, Any], models: Path, quick: bool, keep: Callable[[dict[str, Any]], None]
) -> None:
    """Fill in what is missing."""
    missing = [cell for cell in todo if cell.key not in stored.get(cell.part, {})]
    for k, cell in enumerate(missing):
        started = time.monotonic()
        accuracy = stored.setdefault("accuracy", {})
        if (name := f"{cell.dataset}, {cell.model}") not in accuracy:
            accuracy[name] = grid.accuracy(grid.subject(cell.dataset, cell.model, models))
        stored.setdefault(cell.part, {})[cell.key] = cell.measured(models, quick)
        keep(stored)
        print(f"{k + 1} of {len(missing)}: {cell.part}: {cell.key} ({time.monotonic() - started:.0f} s)", flush=True)


def keep(stored: dict[str, Any]) -> None:
    """Whole or not at all."""
    beside = RESULTS.with_suffix(".part")
    beside.write_text(json.dumps({"torch": torch.__version__} | stored, indent=1) + "\n", encoding="utf-8")
    beside.replace(RESULTS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    folder = Path(tempfile.gettempdir()) / "privee-chosen-columns"
    parser.add_argument("--models", type=Path, default=folder, help="where trained models are kept [%(default)s]")
    parser.add_argument("--only", help="this dataset alone")
    parser.add_argument("--seeds", type=int, nargs="*", default=list(SEEDS))
    parser.add_argument("--quick", action="store_true", help="two questions, 12 records, two defenses, digits alone")
    parser.add_argument("--show", action="store_true", help="print what is stored and measure nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    todo = [cell for cell in cells(tuple(given.seeds)) if given.only in (None, cell.dataset)]
    stored: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() and not given.quick else {}
    if given.quick:
        todo = [c for c in todo if c.dataset == "digits" and c.seed == 0 and c.spec in ("none", "ranking-only", "")]
    if not given.show:
        measure(todo, stored, given.models, given.quick, (lambda _: None) if given.quick else keep)
    tables.show(stored, QUICK if given.quick else COUNTS, [(cell.part, cell.key) for cell in todo])


if __name__ == "__main__":
    main()

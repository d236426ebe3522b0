"""What embedding defenses cost and keep: accuracy, what scores tell the active party, and embeddings a coordinator.

    PRIVEE_DATA_DIR=... python benchmarks/embedding_defenses.py [--only digits] [--minutes 15] [--show] [--page]

Halves of the columns, an mlp, digits and Drive, one seed, trained as `privee train` does; sealed ones from the
unsealed model for twice as long, as `privee seal` does. `kept`: error of the best of four attacks on undefended scores
(adaptive, so with the embedding defense in the model), as a share of the best guess. `regression` and `inversion`: the
same for a coordinator who has the embedding, or the code (`benchmarks/_embedding/coordinator.py`). Every cell is
stored in benchmarks/results/embedding_defenses.json once it is measured.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._embedding.coordinator import Records, told_by_code, told_by_embedding
from benchmarks._sealed import cases
from benchmarks._shared.cells import Cell, Cells, cell_options
from privee.audit import Grid, run_grid
from privee.audit.sources import _subject
from privee.scores import utility_of
from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.experiment import open_model, train_run
from privee.vfl.seal import parse_seal
from privee.vfl.seal.sealing import longer

RESULTS = Path(__file__).parent / "results" / "embedding_defenses.json"
PAGE = Path(__file__).parents[1] / "docs" / "embedding_defenses.md"
PARTY = "passive-1"
SEEDS = {"digits": (0,), "drive": (0,)}
SEALED = {"hashvfl:signs=4": "signs=4", "hashvfl:signs=8": "signs=8", "seal codes=8": "codes=8"}
SPECS = (
    "none",
    *("mid:weight=0.5", "mid:weight=0.05", "mid:weight=0.005"),
    *("dcor:weight=0.0001", "dcor:weight=0.1", "dcor:weight=1", "dcor:weight=3"),
    *("dropout:rate=0.5", "dropout:rate=0.8"),
    *("adversarial:weight=1", "adversarial:weight=10"),
    *SEALED,
)
FIRST = ("none", "mid:weight=0.005", "dcor:weight=1", "adversarial:weight=1", "seal codes=8", "hashvfl:signs=4")
ATTACKS = ("gradient-inversion", "prior-informed", "learned-inversion", "boosted-trees")


class DefendedCell(Cell):
    def measured(self, folder: Path) -> dict[str, Any]:
        data = cases.data_of(self.dataset, self.seed)
        joint = self._trained(folder, data)
        worth = utility_of(joint.scores(torch.from_numpy(data.test)), data.labels[data.test])
        found = {"accuracy": worth.accuracy, "auc": worth.auc, **on_scores(joint, data, self.seed)}
        own, private = (values.reshape(len(values), -1).astype(np.float64) for values in data.columns.values())
        tell = told_by_code if joint.sealed else told_by_embedding
        return found | tell(joint, Records(own, private, data.train, data.test), self.seed)

    def _trained(self, folder: Path, data: Any) -> Any:
        settings = cases.settings_of(self.dataset, self.seed)
        if self.spec == "none":
            return cases.unsealed(self.dataset, self.seed, folder)
        path = folder / "one"
        shutil.rmtree(path, ignore_errors=True)
        if self.spec in SEALED:
            teacher = cases.unsealed(self.dataset, self.seed, folder)
            seals = {PARTY: parse_seal(SEALED[self.spec])}
            train_run(path, data, "mlp", longer(settings), seals=seals, teacher=teacher)
        else:
            train_run(path, data, "mlp", settings, embedding_defenses={PARTY: embedding_defense(self.spec)})
        return open_model(path, data)


def on_scores(joint: Any, data: Any, seed: int) -> dict[str, Any]:
    """Undefended scores, asked once and honestly: the best of the attacks."""
    grid = Grid(
        defenses=("none",),
        attacks=ATTACKS,
        attackers=("adaptive",),
        seeds=(seed,),
        records=200,
        auxiliary_rows=500,
        column_limit=2000,
        questions=(),
        curves=False,
        own_columns=False,
        pictures=False,
    )
    found = run_grid([_subject("model", "mlp", joint, data)], grid, jobs=1)
    (card,) = found.cards
    each = {one.attack: one.guess_normalised for one in found.findings if one.guess_normalised is not None}
    return {"kept": card.guess_normalised, "attacks": {name: each[name] for name in sorted(each)}}


def cells(datasets: tuple[str, ...]) -> Iterator[DefendedCell]:
    """What matters most first: a run that was interrupted goes on with what is missing."""
    for specs in (FIRST, [spec for spec in SPECS if spec not in FIRST]):
        for dataset in datasets:
            yield from (DefendedCell(dataset, spec, seed) for seed in SEEDS[dataset] for spec in specs)


def mean(found: dict[str, Any], dataset: str, spec: str, name: str) -> float | None:
    values = [found.get(DefendedCell(dataset, spec, seed).key, {}).get(name) for seed in SEEDS[dataset]]
    known = [value for value in values if value is not None]
    return statistics.fmean(known) if known else None


def table(found: dict[str, Any], dataset: str) -> list[str]:
    """Means over seeds, as the page shows them."""
    lines = [
        "| embedding | accuracy | error kept, scores | left by regression | left by inversion |",
        "|---|---|---|---|---|",
    ]
    for spec in SPECS:
        shown = [mean(found, dataset, spec, name) for name in ("accuracy", "kept", "regression", "inversion")]
        if shown[0] is not None:
            figures = [
                "-" if value is None else f"{value:.3f}" if k == 0 else f"{value:.2f}" for k, value in enumerate(shown)
            ]
            lines.append(f"| `{spec}` | {' | '.join(figures)} |")
    return lines


def write_page(found: dict[str, Any]) -> None:
    """Between the page's marks."""
    text = PAGE.read_text(encoding="utf-8")
    for dataset in SEEDS:
        start, end = f"<!-- {dataset} -->\n", f"<!-- end {dataset} -->"
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end)
        text = before + start + "\n".join(table(found, dataset)) + "\n" + end + after
    PAGE.write_text(text, encoding="utf-8")


def main() -> None:
    given = cell_options(__doc__, "docs/embedding_defenses.md").parse_args()
    torch.set_num_threads(1)
    stored = Cells(RESULTS)
    if not (given.show or given.page):
        with tempfile.TemporaryDirectory(prefix="privee-embedding-") as folder:
            todo = cells(tuple(given.only or SEEDS))
            stored.measure(todo, Path(folder), given.minutes, clock="cpu_seconds")
    if given.page:
        write_page(stored.found)
    for dataset in given.only or SEEDS:
        print("\n".join([dataset, *table(stored.found, dataset)]))


if __name__ == "__main__":
    main()

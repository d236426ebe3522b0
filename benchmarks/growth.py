"""What grows with what: ledgers, releases, files and federations from small to as large as this machine bears.

    PRIVEE_DATA_DIR=... python benchmarks/growth.py [--only ledger releases protect federation] [--minutes 30] [--show]
    python benchmarks/growth.py --page      draws docs/images/growth.svg and writes docs/performance.md

Every cell is stored in benchmarks/results/growth.json once it is measured, and what is missing can follow. The page
holds every speed that is measured in this project, from the results that are stored, and nothing else. A ledger of ten
million entities takes some 5 GB of disk, a file of a hundred million rows as much, both in the folder for temporary
files. What each part measures stands in benchmarks/_growth.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmarks._growth import federation, index, ledger, protect, releases
from benchmarks._shared.cells import Cell, Cells, cell_options

RESULTS = Path(__file__).parent / "results" / "growth.json"
PARTS: dict[str, Callable[[], Iterable[Cell]]] = {
    "ledger": lambda: sorted([*index.cells(), *ledger.cells()], key=lambda cell: cell.seed),
    "releases": releases.cells,
    "protect": protect.cells,
    "federation": federation.cells,
}


def main() -> None:
    given = cell_options(__doc__, "docs/performance.md").parse_args()
    torch.set_num_threads(1)
    stored = Cells(RESULTS)
    if not (given.show or given.page):
        todo = [cell for name in given.only or PARTS for cell in PARTS[name]()]
        with tempfile.TemporaryDirectory(prefix="privee-growth-") as folder:
            stored.measure(todo, Path(folder), given.minutes)
    if given.page:
        from benchmarks._growth import page, picture

        picture.write()
        page.write()
    for key, figures in stored.found.items():
        if any(cell.key == key for name in given.only or PARTS for cell in PARTS[name]()):
            print(f"{key}: {figures}")


if __name__ == "__main__":
    main()

"""Protect a score file, a block at a time, whatever its size."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from privee.atomic import whole_file
from privee.data.files.formats import SCORES, format_of
from privee.data.score_files import Block, Reader, open_reader, open_writer
from privee.data.score_files.one_column import TwoClassReader
from privee.defenses import Defense
from privee.errors import PriveeError, ScoreError
from privee.given import existing_file
from privee.progress import Progress
from privee.randomness import Draws
from privee.scores.forms import Floats
from privee.theory import rows_in_order

Releases = Callable[[Iterator[Block]], Iterator[tuple[Block, Floats]]]


@dataclasses.dataclass
class Summary:
    """What was done, in numbers that give no single record away."""

    rows: int = 0
    classes: int = 0
    rows_with_ranking_kept: int = 0
    rows_with_label_kept: int = 0
    mean_l1_moved: float = 0.0
    formulas: int = 0
    read_as_two_classes: bool = False

    def add(self, scores: Floats, release: Floats) -> None:
        """Count another block."""
        n = len(scores)
        moved = np.abs(release.astype(np.float64) - scores).sum(axis=1)
        self.mean_l1_moved = (self.mean_l1_moved * self.rows + float(moved.sum())) / max(1, self.rows + n)
        self.rows, self.classes = self.rows + n, scores.shape[1]
        self.rows_with_ranking_kept += int(rows_in_order(scores, release).sum())
        self.rows_with_label_kept += int((scores.argmax(axis=1) == release.argmax(axis=1)).sum())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def protect_file(
    source: Path,
    target: Path,
    defense: Defense,
    *,
    keep: Sequence[str] = (),
    scores: Sequence[str] = (),
    delimiter: str = "",
    draws: Draws | None = None,
    check_sum: bool = True,
    force: bool = False,
    spreadsheet: bool = False,
    progress: Progress = lambda done, size: None,
    releases: Releases | None = None,
) -> Summary:
    """Write the releases of the scores in `source` to `target`; nothing is left behind if it fails.

    Args:
        source: scores, in a .csv, .tsv, .parquet or .npy file.
        target: where the releases go, in one of the same formats.
        defense: what turns scores into releases.
        keep: columns to copy as they are (names or patterns); `id` and `*_id` are kept without asking.
        scores: the score columns, if not all others.
        delimiter: of a CSV file, if not a comma.
        draws: secure unless given.
        check_sum: False accepts rows that do not sum to one.
        force: replace an existing target.
        spreadsheet: in CSV, put a quote before kept text that a spreadsheet would take for a formula.
        progress: called with (done, size) after every block.
        releases: makes them of the blocks, in their order, in place of this process; its draws are its own.
    """
    format_of(target, SCORES)
    existing_file(source)
    with _naming(source):
        reader = open_reader(source, keep=keep, scores=scores, delimiter=delimiter)

    def here(blocks: Iterator[Block]) -> Iterator[tuple[Block, Floats]]:
        for block in blocks:
            yield block, defense.release(block.scores, draws=draws, check_sum=check_sum)

    summary = Summary(read_as_two_classes=isinstance(reader, TwoClassReader))
    with whole_file(target, force=force) as partial:
        writer = open_writer(partial, target, reader, delimiter=delimiter, spreadsheet=spreadsheet)
        try:
            for block, release in (releases or here)(_blocks(reader, source)):
                summary.add(block.scores, release)
                writer.write(Block(release, block.kept))
                progress(reader.done, reader.size)
        except ScoreError as error:
            raise _with_place(error, summary.rows, reader, source.name) from None
        finally:
            writer.close()
        if not summary.rows:
            raise PriveeError(f"{source.name}: there are no rows in the file")
        summary.formulas = writer.formulas
    return summary


@contextlib.contextmanager
def _naming(file: Path) -> Iterator[None]:
    """What is wrong in a file is said with its name."""
    try:
        yield
    except ScoreError:
        raise  # says which row; its place in the file comes later
    except PriveeError as error:
        raise PriveeError(f"{file.name}: {error}") from None


def _blocks(reader: Reader, file: Path) -> Iterator[Block]:
    with _naming(file):
        yield from reader.blocks()


def _with_place(error: ScoreError, rows_before: int, reader: Reader, name: str) -> PriveeError:
    """Say where in the file it is: rows from 1, columns by name."""
    if error.row is None:
        return PriveeError(f"{name}: {error}")
    place = f"{name}: data row {rows_before + error.row + 1}"
    if error.column is not None:
        column = reader.score_names[error.column] if reader.score_names else error.column
        place += f", column {column}"
    return PriveeError(f"{place} {error.what}")

"""Options that attack, audit and recommend share: what is attacked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privee.cli.joint_data import named_files
from privee.cli.output import err, progress_bar
from privee.data.partition import How
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.audit import Subject


def chosen_subjects(
    run: Path | None,
    *,
    dataset: str | None,
    entry: str | None,
    party: Sequence[str] | None,
    models: Sequence[str],
    fractions: Sequence[float],
    split: How | None,
    seed: int,
    data_dir: Path | None,
    folder: Path,
) -> list[Subject]:
    """A run, a dataset or a user's own model; one subject per model and adversary fraction."""
    from privee.audit import subject_from_entry, subject_from_run

    if sum(source is not None for source in (run, dataset, entry)) != 1:
        raise PriveeError("say what to attack: a run folder, --dataset digits, or --entry module:function")
    if dataset is not None:
        shares: list[float | None] = [*fractions] or [None]
        where = folder / "models"
        return [_trained(dataset, model, share, split, seed, data_dir, where) for model in models for share in shares]
    one = subject_from_entry(entry) if entry else subject_from_run(_path(run), named_files(party) or None, data_dir)
    return [one.at_fraction(fraction) for fraction in fractions] or [one]


def chosen_subject(run: Path | None, *, model: str, fraction: float | None, **source: Any) -> Subject:
    """The same for commands that take one model and one fraction."""
    (one,) = chosen_subjects(run, models=[model], fractions=[] if fraction is None else [fraction], **source)
    return one


def _trained(
    dataset: str,
    model: str,
    fraction: float | None,
    split: How | None,
    seed: int,
    data_dir: Path | None,
    models: Path,
) -> Subject:
    from privee.audit import subject_from_dataset

    words = [dataset, model, *([f"{fraction:g}"] if fraction else []), *([split] if split else []), f"seed{seed}"]
    with progress_bar(f"training {model} on {dataset}") as bar:
        subject = subject_from_dataset(
            dataset,
            model,
            models / "-".join(words),
            fraction=fraction,
            how=split,
            seed=seed,
            data_dir=data_dir,
            on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
        )
    err.print(subject.name, markup=False)
    return subject


def _path(run: Path | None) -> Path:
    assert run is not None  # noqa: S101 (one of three sources is given)
    return run

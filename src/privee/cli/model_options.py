"""What commands on joint models share: where the data comes from, what is attacked, and how a training ended."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from privee.cli.names import check_dataset, check_model, model_names
from privee.cli.output import err, note, out, print_json, progress_bar
from privee.cli.utility_table import print_utilities
from privee.data.partition import How
from privee.errors import PriveeError
from privee.given import existing_file, existing_run

if TYPE_CHECKING:
    from privee.audit import Subject
    from privee.vfl.experiment import TrainingOutcome
    from privee.vfl.joint_data import JointData
    from privee.vfl.worth import ModelWorth


By = Literal["active", "passive", "coordinator"]
"""Who attacks."""
_NAMES = model_names()
MODEL_NAMES = f"{', '.join(_NAMES[:-1])} or {_NAMES[-1]}"
"""The models there are, for help texts."""


def named_files(options: Sequence[str] | None, given_by: str = "--party") -> dict[str, Path]:
    """`bank=bank.csv` options as names and paths."""
    files: dict[str, Path] = {}
    for option in options or ():
        name, equals, path = option.partition("=")
        if not (name and equals and path):
            raise PriveeError(f"{given_by} takes NAME=FILE, got {option!r}")
        if name in files:
            raise PriveeError(f"party {name} is given twice")
        files[name] = Path(path)
    return files


def given_files(options: Sequence[str] | None, given_by: str = "--party") -> dict[str, Path]:
    """The same for files that must be here."""
    return {name: existing_file(path, f"party {name}") for name, path in named_files(options, given_by).items()}


def id_columns(options: Sequence[str], parties: Collection[str]) -> dict[str, str]:
    """`bank:customer_id` is for bank alone if there is such a party; otherwise the text is a column's name for all."""
    for_all = [text for text in options if ":" not in text or text.partition(":")[0] not in parties]
    for_one = dict(text.split(":", 1) for text in options if text not in for_all)
    if len(for_all) > 1:
        raise PriveeError("--id names more than one column for all parties; use --id PARTY:COLUMN")
    chosen = dict.fromkeys(parties, for_all[0]) | for_one if for_all else for_one
    missing = [name for name in parties if name not in chosen]
    if missing:
        raise PriveeError(f"which column holds the ids of {', '.join(missing)}? Give --id COLUMN or --id PARTY:COLUMN")
    return chosen


def dataset_data(
    name: str, *, parties: int, fraction: float | None, how: How | None, seed: int, data_dir: Path | None
) -> JointData:
    """A named dataset, its columns given to parties."""
    from privee.data.datasets import load_dataset
    from privee.vfl.experiment import partition_of
    from privee.vfl.joint_data import from_dataset

    with progress_bar(f"fetching {name}") as progress:
        dataset = load_dataset(name, data_dir=data_dir, seed=seed, progress=progress)
    partition = partition_of(dataset, parties=parties, adversary_fraction=fraction, how=how, seed=seed)
    return from_dataset(dataset, partition)


def show_outcome(outcome: TrainingOutcome, as_json: bool, kind: str = "") -> None:
    """How a training ended; `kind` is what was trained."""
    if as_json:
        print_json(outcome.as_dict())
        return
    out.print(f"{outcome.run}: {kind + ', ' if kind else ''}{outcome.epochs} epochs", markup=False)
    out.print(f"accuracy {outcome.test.accuracy:.2%} on {outcome.test.rows:,} test records, ", end="")
    out.print(f"{outcome.train.accuracy:.2%} on {outcome.train.rows:,} training records")
    if outcome.worth is not None:
        _show_worth(outcome.worth)
    for party, told in outcome.seals.items():
        out.print(seal_words(party, told), markup=False)
    for party, told in outcome.embedding_defenses.items():
        out.print(embedding_words(party, told), markup=False)


def embedding_words(party: str, told: Mapping[str, Any]) -> str:
    """What a party does to its embedding, and that nothing follows from it."""
    proven = "nothing is proven about it" if told["proven"] == "none" else told["proven"]
    caution = f". Beware: {told['caution']}" if told.get("caution") else ""
    return f"{party} sends {told['summary']} ({told['embedding_defense']}); {proven}: audit the run{caution}"


def seal_words(party: str, told: Mapping[str, Any]) -> str:
    """What can ever leave a sealed party, in a line or two."""
    often = "whatever is asked, by whomever, however often"
    if told["epsilon"] is None:
        line = f"{party} is sealed: one of {told['codes']} codes, at most {told['bits']:.3g} bits of a record, {often}"
    else:
        line = (
            f"{party} is sealed: one of {told['codes']} codes, drawn once with epsilon {told['epsilon']:g}, at most "
            f"{told['leaked_bits']:.2g} bits of a record, {often}"
        )
    if told["learn"] == "joint":
        return f"{line} (for records outside training: what crossed while codes were learned is not covered)"
    return f"{line}; its codes are its own, no gradient ever came in"


def _show_worth(worth: ModelWorth) -> None:
    """The joint model beside what the active party has without the others."""
    print_utilities(
        {
            "joint model": worth.utility.as_dict(),
            "own columns alone": worth.own_columns.as_dict(),
            "majority class": worth.majority.as_dict(),
        },
        worth.positive_class,
    )
    alone = worth.own_columns
    learned = f"{alone.model}, learned from {alone.trained_on:,} training records"
    out.print(f"measured on the test records; own columns: {worth.active}'s ({learned})", markup=False)
    if worth.adds_nothing:
        out.print(f"The joint model adds nothing to {worth.active}'s own columns here.", markup=False)


def question_counts(text: str, *, none: bool = False) -> tuple[int, ...]:
    """Numbers of questions, as in `1,2,5`, in rising order; with `none`, 0 alone is for none."""
    try:
        counts = tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError:
        raise PriveeError(f"--questions takes whole numbers such as 1,2,5,10; got {text!r}") from None
    if none and counts == (0,):
        return ()
    if counts[0] < 1:
        raise PriveeError(f"--questions takes numbers from 1 on{', or 0 alone for none' * none}; got {text!r}")
    return counts


def check_source(
    run: Path | None, *, dataset: str | None, entry: str | None, party: Sequence[str] | None, models: Sequence[str]
) -> None:
    """Refuse what cannot be attacked, before anything is loaded that takes seconds to load."""
    if sum(source is not None for source in (run, dataset, entry)) != 1:
        raise PriveeError("say what to attack: a run folder, --dataset digits, or --entry module:function")
    if run is not None:
        existing_run(run)
    if dataset is not None:
        check_dataset(dataset)
        for model in models:
            check_model(model)
    given_files(party)


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
    against_each: bool = False,
) -> list[Subject]:
    """A run, a dataset or a user's own model; one subject per model and adversary fraction. See `check_source`.

    With `against_each`, one for each of several passive parties if any is sealed (`each_against_all_others`).
    """
    from privee.audit import subject_from_entry, subject_from_run
    from privee.audit.sources import each_against_all_others

    if dataset is not None:
        shares: list[float | None] = [*fractions] or [None]
        where = folder / "models"
        return [_trained(dataset, model, share, split, seed, data_dir, where) for model in models for share in shares]
    if entry:
        one = subject_from_entry(entry)
    else:
        with progress_bar("aligning") as progress:
            one = subject_from_run(_path(run), given_files(party) or None, data_dir, progress=progress, tell=note)
    if against_each and not fractions:
        return each_against_all_others(one)
    return [one.at_fraction(fraction) for fraction in fractions] or [one]


def asked_by(subject: Subject, by: By) -> Subject:
    """The same model with this attacker."""
    if by == "active":
        return subject
    return subject.swapped() if by == "passive" else subject.with_coordinator()


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

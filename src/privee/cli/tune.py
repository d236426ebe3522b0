"""`privee tune`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privee.cli.model_options import MODEL_NAMES, dataset_data
from privee.cli.names import DATASET, MODEL, check_dataset, check_model
from privee.cli.output import InterruptedByUserError, err, out, print_json, progress_bar
from privee.cli.table_options import (
    given_tables,
    table_data,
)
from privee.cli.training_options import (
    ClassWeights,
    Scaling,
    Threads,
    filled,
    given_settings,
    open_settings,
)
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.vfl.joint_data import JointData


def tune(
    dataset: Annotated[
        str | None, typer.Argument(autocompletion=DATASET, help="A dataset by name (see `privee data list`).")
    ] = None,
    study: Annotated[Path, typer.Option("--out", "-o", help="Study file; can be resumed.")] = Path("study.journal"),
    trials: Annotated[int, typer.Option(min=1, help="Finished trials to reach.")] = 100,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs per trial.")] = 5,
    model: Annotated[str, typer.Option(autocompletion=MODEL, help=f"{MODEL_NAMES}.")] = "mlp",
    parties: Annotated[int, typer.Option(min=2, help="How many parties share the columns.")] = 2,
    party: Annotated[list[str] | None, typer.Option(help="Own tables instead: NAME=FILE, repeatable.")] = None,
    active: Annotated[str | None, typer.Option(help="With --party: who holds the labels.")] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", help="With --party: id column, or PARTY:COLUMN.")] = None,
    label: Annotated[str | None, typer.Option(help="With --party: the label column.")] = None,
    test_share: Annotated[float, typer.Option(help="With --party: share of records kept for testing.")] = 0.2,
    seal: Annotated[
        bool, typer.Option("--seal", help="Search for the seal that tells least and is still good enough.")
    ] = False,
    lose: Annotated[float, typer.Option(help="With --seal: accuracy that may be lost against no seal.")] = 0.01,
    min_accuracy: Annotated[float | None, typer.Option(help="With --seal: the accuracy needed, for --lose.")] = None,
    learn: Annotated[Literal["joint", "own"], typer.Option(help="With --seal: who learns codes from what.")] = "joint",
    scaling: Scaling = None,
    class_weights: ClassWeights = "none",
    threads: Threads = None,
    seed: Annotated[int, typer.Option(help="For weights, batches, splits and the search.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Search for the learning rate (1e-5 to 1e-1) and batch size (32 to 2048) with Optuna's TPE.

    Every trial is judged by its loss on training rows held out; the test records are not touched.

    Example: `privee tune digits --trials 20 --out digits.journal`

    With `--seal`: which number of codes and which epsilon tell least, within an accuracy that you name:
    `privee tune digits --seal --lose 0.02 --out seals.json`
    """
    if bool(party) == bool(dataset):
        raise PriveeError("name a dataset, or own tables with --party, one of the two")
    check_model(model)
    if dataset is not None:
        check_dataset(dataset)
    tables = given_tables(party, active=active, ids=ids, label=label) if party else None

    from privee.vfl.tuning import tune as work

    if tables is not None:
        data = table_data(tables, test_share=test_share, seed=seed)
    else:
        data = dataset_data(str(dataset), parties=parties, fraction=None, how=None, seed=seed, data_dir=data_dir)
        err.print(data.about["shares"])
    if seal:
        _tune_seal(data, model, dataset, study, lose, min_accuracy, learn, seed, as_json)
        return
    fixed = {"epochs": epochs, "patience": epochs, "class_weights": class_weights}
    training, left = open_settings(given_settings(fixed | {"scaling": scaling}), dataset=dataset, seed=seed)
    try:
        with progress_bar(f"tuning {dataset or 'tables'}") as bar:
            settings = filled(training, left, model, data)
            found = work(data, model, settings, study_file=study, trials=trials, threads=threads, on_trial=bar)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on with the trials that are missing") from None
    if as_json:
        print_json(found.as_dict())
    else:
        out.print(f"best of {found.trials} trials: loss {found.loss:.4f}, accuracy {found.accuracy:.2%} ", end="")
        out.print("on held-out training rows with")
        out.print(f"--learning-rate {found.learning_rate:.3g} --batch-size {found.batch_size}")


def _tune_seal(
    data: JointData,
    model: str,
    dataset: str | None,
    study: Path,
    lose: float,
    least: float | None,
    learn: str,
    seed: int,
    as_json: bool,
) -> None:
    """The search for a seal, and its table."""
    from privee.vfl.seal.tuning import tune_seal

    given: dict[str, Any] = {}
    training, left = open_settings(given, dataset=dataset, seed=seed)
    try:
        with progress_bar("trying seals") as bar:
            found = tune_seal(
                data,
                model,
                filled(training, left, model, data),
                study_file=study,
                lose=lose,
                least=least,
                learn=learn,
                on_trial=bar,
            )
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on with the trials that are missing") from None
    if as_json:
        print_json(found.as_dict())
        return
    out.print(f"accuracy on training rows held out; not sealed {found.unsealed.accuracy:.2%}, needed {found.least:.2%}")
    for trial in found.trials:
        mark = "  <- tells least" if trial == found.best else ""
        bits = f"{trial.leaked_bits:.2f} bits at most"
        out.print(f"  {trial.seal:22} {bits:18} {trial.accuracy:.2%}{mark}", markup=False)
    if found.best is None:
        out.print("no seal tried is good enough; allow more with --lose")
    else:
        out.print(f"--seal {found.best.seal}", markup=False)

"""`privee tune`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privee.cli.joint import dataset_data
from privee.cli.output import InterruptedByUserError, err, out, print_json, progress_bar


def tune(
    dataset: Annotated[str, typer.Argument(help="A dataset by name (see `privee data list`).")],
    study: Annotated[Path, typer.Option("--out", "-o", help="Study file; can be resumed.")] = Path("study.journal"),
    trials: Annotated[int, typer.Option(min=1, help="Finished trials to reach.")] = 100,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs per trial.")] = 5,
    model: Annotated[str, typer.Option(help="logistic, mlp or resnet.")] = "mlp",
    parties: Annotated[int, typer.Option(min=2, help="How many parties share the columns.")] = 2,
    seed: Annotated[int, typer.Option(help="For weights, batches, splits and the search.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Search for the learning rate (1e-5 to 1e-1) and batch size (32 to 2048) with Optuna's TPE.

    Example: `privee tune digits --trials 20 --out digits.journal`
    """
    from privee.vfl.tuning import tune as work

    data = dataset_data(dataset, parties=parties, fraction=None, how=None, seed=seed, data_dir=data_dir)
    err.print(data.about["shares"])
    try:
        with progress_bar(f"tuning {dataset}") as bar:
            found = work(data, model, study_file=study, trials=trials, epochs=epochs, seed=seed, on_trial=bar)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on with the trials that are missing") from None
    if as_json:
        print_json(found.as_dict())
    else:
        out.print(f"best of {found.trials} trials: accuracy {found.accuracy:.2%} on held-out training rows with")
        out.print(f"--learning-rate {found.learning_rate:.3g} --batch-size {found.batch_size}")

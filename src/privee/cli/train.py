"""`privee train`, `privee tune` and `privee predict`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privee.atomic import refuse_existing
from privee.cli.model_options import MODEL_NAMES, dataset_data, given_files, show_outcome
from privee.cli.names import DATASET, DEFENSE, MODEL, check_dataset, check_model, check_preset
from privee.cli.output import InterruptedByUserError, err, note, out, print_json, progress_bar, warn_of_formulas
from privee.cli.table_options import (
    Categorical,
    Delimiter,
    Drop,
    LabelIs,
    LabelThreshold,
    MissingLabels,
    given_tables,
    show_report,
    table_choices,
    table_data,
)
from privee.cli.training_options import (
    Batch,
    ClassWeights,
    Epochs,
    Patience,
    Penalty,
    Rate,
    Scaling,
    Schedule,
    Threads,
    ValidationShare,
    given_settings,
    open_settings,
)
from privee.cli.utility_table import print_utilities
from privee.data.files.formats import SCORES, format_of
from privee.data.partition import How
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.given import existing_run
from privee.randomness import seeded

if TYPE_CHECKING:
    from privee.vfl.joint_data import JointData
    from privee.vfl.training import TrainingSettings


def train(
    dataset: Annotated[
        str | None, typer.Argument(autocompletion=DATASET, help="A dataset by name (see `privee data list`).")
    ] = None,
    run: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run; train again to resume it.")] = Path(
        "run"
    ),
    model: Annotated[str | None, typer.Option(autocompletion=MODEL, help=f"{MODEL_NAMES}.")] = None,
    preset: Annotated[str | None, typer.Option(help="`paper`: the paper's settings for this dataset.")] = None,
    parties: Annotated[int, typer.Option(min=2, help="How many parties share the dataset's columns.")] = 2,
    adversary_fraction: Annotated[
        float | None, typer.Option(help="Share of the columns that the active party holds; default: an equal share.")
    ] = None,
    split: Annotated[How | None, typer.Option(help="Default: strips for pictures, contiguous else.")] = None,
    party: Annotated[list[str] | None, typer.Option(help="Own tables instead: NAME=FILE, repeatable.")] = None,
    active: Annotated[str | None, typer.Option(help="With --party: who holds the labels.")] = None,
    ids: Annotated[list[str] | None, typer.Option("--id", help="With --party: id column, or PARTY:COLUMN.")] = None,
    label: Annotated[str | None, typer.Option(help="With --party: the label column.")] = None,
    test_share: Annotated[float, typer.Option(help="With --party: share of records kept for testing.")] = 0.2,
    delimiter: Delimiter = None,
    categorical: Categorical = None,
    drop: Drop = None,
    missing_labels: MissingLabels = "refuse",
    label_is: LabelIs = None,
    label_threshold: LabelThreshold = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --party: match and read the tables, say how, and stop.")
    ] = False,
    epochs: Epochs = None,
    batch_size: Batch = None,
    learning_rate: Rate = None,
    patience: Patience = None,
    validation_share: ValidationShare = None,
    scaling: Scaling = None,
    class_weights: ClassWeights = "none",
    penalty: Penalty = None,
    schedule: Schedule = None,
    threads: Threads = None,
    pipeline: Annotated[bool, typer.Option(help="One exchange per step, embeddings one step older.")] = False,
    seed: Annotated[int, typer.Option(help="For weights, batches and splits.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Train a joint model of several parties into a run folder. Ctrl-C leaves a run that can be resumed.

    Example: `privee train digits --model logistic --learning-rate 0.02 --out runs/digits`

    Own tables: `privee train --party bank=bank.csv --party shop=shop.csv --active bank --id customer --label risk`

    Delimiters, encodings and decimal commas of CSV files are found; `--dry-run` shows how the tables were read.
    """
    if bool(party) == bool(dataset):
        raise PriveeError("name a dataset, or own tables with --party, one of the two")
    check_preset(preset)
    if model is not None:
        check_model(model)
    if dataset is not None:
        check_dataset(dataset)
    tables = given_tables(party, active=active, ids=ids, label=label) if party else None
    if dry_run and tables is None:
        raise PriveeError("--dry-run is for own tables; name them with --party")

    from privee.vfl.experiment import train_run

    given = given_settings(
        epochs=epochs,
        batch_size=batch_size,
        learning_rate=learning_rate,
        patience=patience,
        validation_share=validation_share,
        scaling=scaling,
        penalty=penalty,
        schedule=schedule,
    )
    kind, settings = _settings(dataset, preset, model, given)
    training, left = open_settings(settings, dataset=dataset, seed=seed, pipeline=pipeline, class_weights=class_weights)
    if tables is not None:
        choices = table_choices(delimiter, categorical, drop, missing_labels, label_is, label_threshold)
        data = table_data(tables, test_share=test_share, seed=seed, choices=choices, run=run)
        if dry_run:
            show_report(data.report, as_json)
            return
        show_report(data.report, where=err)
    else:
        data = dataset_data(
            str(dataset), parties=parties, fraction=adversary_fraction, how=split, seed=seed, data_dir=data_dir
        )
        err.print(data.about["shares"])
    try:
        with progress_bar(f"training {dataset or 'tables'}") as bar:
            outcome = train_run(
                run,
                data,
                kind,
                _filled(training, () if preset else left, kind, data),
                on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
                threads=threads,
            )
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on after the last finished epoch") from None
    show_outcome(outcome, as_json, kind)


def _settings(
    dataset: str | None, preset: str | None, model: str | None, given: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Preset first, then whatever was given on top of it."""
    from privee.vfl.training import paper_settings

    chosen = paper_settings(dataset or "own tables") if preset else {"model": "mlp"}
    kind = model or chosen.pop("model")
    chosen.pop("model", None)
    return kind, chosen | given


def _filled(training: TrainingSettings, left: tuple[str, ...], kind: str, data: JointData) -> TrainingSettings:
    """With what was left open as it suits the table."""
    from privee.vfl.defaults import filled_settings

    return filled_settings(training, left, model=kind, rows=len(data.train), n_classes=len(data.class_names))


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
    fixed = {"epochs": epochs, "patience": epochs, "class_weights": class_weights}
    training, left = open_settings(given_settings(**fixed, scaling=scaling), dataset=dataset, seed=seed)
    try:
        with progress_bar(f"tuning {dataset or 'tables'}") as bar:
            settings = _filled(training, left, model, data)
            found = work(data, model, settings, study_file=study, trials=trials, threads=threads, on_trial=bar)
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on with the trials that are missing") from None
    if as_json:
        print_json(found.as_dict())
    else:
        out.print(f"best of {found.trials} trials: loss {found.loss:.4f}, accuracy {found.accuracy:.2%} ", end="")
        out.print("on held-out training rows with")
        out.print(f"--learning-rate {found.learning_rate:.3g} --batch-size {found.batch_size}")


def predict(
    run: Annotated[Path, typer.Argument(help="A finished run folder.")],
    out_file: Annotated[Path, typer.Option("--out", "-o", help="Where the releases go: .csv, .parquet or .npy.")],
    defense: Annotated[
        str,
        typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What is released; `none` for the raw scores."),
    ],
    party: Annotated[list[str] | None, typer.Option(help="New tables of the parties: NAME=FILE, repeatable.")] = None,
    rows: Annotated[
        Literal["test", "train", "all"] | None,
        typer.Option(
            help="Records to predict: `train`, which the model was trained on, `test`, all others, or `all`. "
            "[default: test of a dataset, all of tables]"
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Reproducible draws, for experiments only.")] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    spreadsheet: Annotated[
        bool, typer.Option(help="In CSV, put a quote before text that a spreadsheet would take for a formula.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the output file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Summary as JSON.")] = False,
) -> None:
    """Predict with a run and write the releases, one row per record.

    Example: `privee predict runs/digits --defense privee-u:rho=0.1 --out releases.csv`
    """
    chosen, files = make_defense(defense), given_files(party)
    existing_run(run)
    format_of(out_file, SCORES)
    refuse_existing(out_file, force)

    from privee.vfl.prediction import predict as work

    with progress_bar("aligning") as aligning, progress_bar("predicting") as progress:
        summary = work(
            run,
            out_file,
            chosen,
            files=files or None,
            which=rows,
            draws=None if seed is None else seeded(seed),
            data_dir=data_dir,
            force=force,
            spreadsheet=spreadsheet,
            progress=progress,
            aligning=aligning,
            tell=note,
        )
    if not spreadsheet:
        warn_of_formulas(summary["formulas"])
    if as_json:
        print_json(summary)
        return
    out.print(f"{out_file}: {summary['rows']:,} rows, {summary['classes']} classes, {chosen.spec}", markup=False)
    kept = f"predicted class kept {summary['label_kept']:.1%}, order within records {summary['ranking_kept']:.1%}"
    out.print(f"{kept}, mean L1 moved {summary['mean_l1_moved']:.3g}")
    out.print(f"order between records {summary['order_between']:.2f} (Kendall's tau: 1 is all of it, 0 none)")
    _show_utility(summary["utility"])


def _show_utility(found: dict[str, Any] | None) -> None:
    """Scores and release side by side, and on what records."""
    if found is None:
        out.print("utility is not measured: none of these records has a label that the model knows")
        return
    print_utilities({name: found[name] for name in ("scores", "release")}, found["positive_class"])
    records = {
        "new": "records that the model was not trained on",
        "training": "TRAINING records: new ones will do worse",
        "unknown": "records; the run does not tell whether it was trained on them",
    }[found["records"]]
    left_out = {"training records": found["trained_on_left_out"], "without a known label": found["without_label"]}
    words = "".join(f", {count:,} {what} left out" for what, count in left_out.items() if count)
    out.print(f"measured on {found['scores']['rows']:,} {records}{words}")

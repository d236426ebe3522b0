"""`privee train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from privee.cli.embedding_options import (
    EmbeddingDefenseOption,
    check_embedding_defenses,
    given_embedding_defenses,
)
from privee.cli.model_options import MODEL_NAMES, dataset_data, show_outcome
from privee.cli.names import DATASET, MODEL, check_dataset, check_model, check_preset
from privee.cli.output import InterruptedByUserError, err, progress_bar
from privee.cli.seal_options import SealOption, SensitiveOption, check_seal, given_seals
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
    Optimizer,
    Patience,
    Penalty,
    Rate,
    Scaling,
    Schedule,
    Threads,
    ValidationShare,
    filled,
    given_settings,
    open_settings,
)
from privee.data.partition import How
from privee.errors import PriveeError


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
    optimizer: Optimizer = "adam",
    threads: Threads = None,
    pipeline: Annotated[bool, typer.Option(help="One exchange per step, embeddings one step older.")] = False,
    seal: SealOption = None,
    sensitive: SensitiveOption = None,
    embedding_defense: EmbeddingDefenseOption = None,
    seed: Annotated[int, typer.Option(help="For weights, batches and splits.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="Folder with dataset files.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Train a joint model of several parties into a run folder. Ctrl-C leaves a run that can be resumed.

    Example: `privee train digits --model logistic --learning-rate 0.02 --out runs/digits`

    Own tables: `privee train --party bank=bank.csv --party shop=shop.csv --active bank --id customer --label risk`

    Delimiters, encodings and decimal commas of CSV files are found; `--dry-run` shows how the tables were read.

    `--seal codes=8` seals the passive parties: each sends one of 8 codes per record in all its life, and nothing else.

    `--embedding-defense mid:weight=0.05` trains them with a defense of the literature at the embedding: no bound.
    """
    for text in seal or ():
        check_seal(text)
    check_embedding_defenses(embedding_defense, seal)
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

    given = given_settings(locals())
    kind, settings = _settings(dataset, preset, model, given)
    training, left = open_settings(settings, dataset=dataset, seed=seed, pipeline=pipeline)
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
                filled(training, () if preset else left, kind, data),
                on_step=lambda epoch, of, step, steps: bar((epoch - 1) * steps + step, of * steps),
                threads=threads,
                seals=given_seals(seal, sensitive, data),
                embedding_defenses=given_embedding_defenses(embedding_defense, list(data.columns)[1:]),
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

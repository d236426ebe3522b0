"""`privee federation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from privee.cli.embedding_options import EmbeddingDefenseOption, given_embedding_defenses
from privee.cli.model_options import MODEL_NAMES, id_columns, named_files, show_outcome
from privee.cli.names import DATASET
from privee.cli.output import InterruptedByUserError, err, out, print_json, progress_bar
from privee.cli.seal_options import SealOption, SensitiveOption, StartOption, job_seals
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
    ValidationShare,
    given_settings,
    open_settings,
)
from privee.data.partition import How
from privee.errors import PriveeError

if TYPE_CHECKING:
    from privee.federation.settings import JobSettings, SiteSettings
    from privee.vfl.experiment import TrainingOutcome
    from privee.vfl.training import TrainingSettings

app = typer.Typer(no_args_is_help=True, help="Train across organisations, each on its own machine, over NVIDIA FLARE.")

Model = Annotated[str, typer.Option(help=f"{MODEL_NAMES}.")]
Parties = Annotated[int, typer.Option(min=2, help="With a dataset: how many sites share its columns.")]
Fraction = Annotated[
    float | None, typer.Option("--adversary-fraction", help="The active party's share of the columns.")
]
Split = Annotated[How | None, typer.Option(help="Default: strips for pictures, contiguous else.")]
Party = Annotated[list[str] | None, typer.Option(help="Own tables: NAME=FILE, or NAME alone, repeatable.")]
Active = Annotated[str | None, typer.Option(help="With --party: who holds the labels.")]
Ids = Annotated[list[str] | None, typer.Option("--id", help="With --party: id column, or PARTY:COLUMN.")]
Label = Annotated[str | None, typer.Option(help="With --party: the label column.")]
Share = Annotated[float, typer.Option(help="With --party: share of records kept for testing.")]
Seed = Annotated[int, typer.Option(help="For weights, batches and splits.")]
Pipeline = Annotated[bool, typer.Option(help="One exchange per step, embeddings one step older.")]
Packed = Annotated[Literal["exact", "fp16", "int8"], typer.Option(help="How embeddings travel.")]
Answer = Annotated[float, typer.Option(help="Seconds a site may take for a training step.")]
Align = Annotated[float, typer.Option(help="The same for reading its table and for a step of the alignment.")]
Json = Annotated[bool, typer.Option("--json", help="As JSON.")]


@app.command("simulate")
def simulate(
    dataset: Annotated[
        str | None, typer.Argument(autocompletion=DATASET, help="A dataset by name; or give --party.")
    ] = None,
    run: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run; again to resume it.")] = Path("run"),
    model: Model = "mlp",
    parties: Parties = 2,
    adversary_fraction: Fraction = None,
    split: Split = None,
    party: Party = None,
    active: Active = None,
    ids: Ids = None,
    label: Label = None,
    test_share: Share = 0.2,
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
    seed: Seed = 0,
    pipeline: Pipeline = False,
    packing: Packed = "exact",
    seal: SealOption = None,
    sensitive: SensitiveOption = None,
    embedding_defense: EmbeddingDefenseOption = None,
    answer_seconds: Answer = 30.0,
    align_seconds: Align = 600.0,
    as_json: Json = False,
) -> None:
    """Train in NVFlare's simulator: every site a process on this machine, no certificates.

    Example: `privee federation simulate digits --parties 3 --epochs 5 --out runs/simulated`
    """
    from privee.federation.kits.simulator import simulate as work

    given = given_settings(locals())
    training = open_settings(given, dataset=dataset, seed=seed, pipeline=pipeline)
    shares = (parties, adversary_fraction, split)
    names, source, sites = _data(dataset, shares, party, active, ids, label, test_share, seed)
    told = (seal, sensitive, embedding_defense)
    job = _job(names, model, training, source, packing, told, (answer_seconds, align_seconds))
    show_outcome(_followed("simulating", lambda told: work(run, job, sites, on_state=told)), as_json)


@app.command("init")
def init(
    project: Annotated[Path, typer.Argument(help="Folder to make: kits with keys, so keep it to yourself.")],
    dataset: Annotated[
        str | None, typer.Option(autocompletion=DATASET, help="A dataset by name; or give --party.")
    ] = None,
    server: Annotated[str, typer.Option(help="Host name of the coordinator's machine.")] = "localhost",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port the server listens on.")] = 8002,
    direct_port: Annotated[int | None, typer.Option(help="A second port of the server's: faster steps.")] = None,
    model: Model = "mlp",
    parties: Parties = 2,
    adversary_fraction: Fraction = None,
    split: Split = None,
    party: Party = None,
    active: Active = None,
    ids: Ids = None,
    label: Label = None,
    test_share: Share = 0.2,
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
    seed: Seed = 0,
    pipeline: Pipeline = False,
    packing: Packed = "exact",
    seal: SealOption = None,
    sensitive: SensitiveOption = None,
    embedding_defense: EmbeddingDefenseOption = None,
    answer_seconds: Answer = 30.0,
    align_seconds: Align = 600.0,
    as_json: Json = False,
) -> None:
    """Write a project: start-up kits with certificates for server, sites and admin, and the job's settings.

    Example: `privee federation init risk --server flare.example.org --party bank --party shop --active bank`
    """
    from privee.federation.kits.project import create_project

    given = given_settings(locals())
    training = open_settings(given, dataset=dataset, seed=seed, pipeline=pipeline)
    shares = (parties, adversary_fraction, split)
    names, source, sites = _data(dataset, shares, party, active, ids, label, test_share, seed)
    told = (seal, sensitive, embedding_defense)
    job = _job(names, model, training, source, packing, told, (answer_seconds, align_seconds))
    made = create_project(project, job, server=server, port=port, direct_port=direct_port, sites=sites)
    kits = {name: str(made.kit(name)) for name in (server, *names)}
    if as_json:
        print_json({"project": str(project), "server": server, "port": port, "kits": kits})
    else:
        out.print(f"{project}: hand each kit to its machine, and to nobody else", markup=False)
        for name, kit in kits.items():
            out.print(f"  {name}: {kit}", markup=False)


@app.command("data")
def data(
    kit: Annotated[Path, typer.Argument(help="This site's kit.")],
    table: Annotated[Path, typer.Option("--data", help="This site's table, CSV or Parquet; it stays here.")],
    id_column: Annotated[str, typer.Option("--id", help="Its id column.")],
    label: Annotated[str | None, typer.Option(help="At the active party: its label column.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Where to keep parts of models; default: in the kit.")] = None,
    seal: Annotated[
        str | None, typer.Option(help="Take part in no job that seals this site less tightly, e.g. codes=8,epsilon=4.")
    ] = None,
    most_bits: Annotated[
        float | None, typer.Option(help="Most bits that codes may tell of a record, over all sealed runs, ever.")
    ] = None,
    most_epsilon: Annotated[float | None, typer.Option(help="The same for the epsilon of their draws.")] = None,
) -> None:
    """Tell a site which table is its own, and what it insists on.

    Example: `privee federation data kits/bank --data bank.csv --id customer --label risk`
    """
    from privee.federation.kits.start_kit import name_table

    written = name_table(kit, table, id_column, label, folder, seal, most_bits=most_bits, most_epsilon=most_epsilon)
    out.print(f"{written}: the table stays where it is, and this file too", markup=False)


@app.command("start")
def start(kit: Annotated[Path, typer.Argument(help="The kit of the server or of a site.")]) -> None:
    """Run the server or a site until Ctrl-C.

    Example: `privee federation start kits/bank`
    """
    from privee.federation.kits.start_kit import prepare_kit, serve_kit

    err.print(f"{prepare_kit(kit)} {kit.resolve().name}, until Ctrl-C", markup=False)
    raise typer.Exit(serve_kit(kit))


@app.command("run")
def run(
    project: Annotated[Path, typer.Argument(help="A project of `privee federation init`.")],
    run: Annotated[Path, typer.Option("--out", "-o", help="Folder for the run; again to resume it.")] = Path("run"),
    local: Annotated[bool, typer.Option(help="Start server and sites here as well, for this run.")] = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for sites, at first and after one was lost.")] = 300.0,
    attempts: Annotated[int, typer.Option(min=1, help="How often to go on after a site was lost.")] = 5,
    seal: SealOption = None,
    sensitive: SensitiveOption = None,
    start_from: StartOption = None,
    embedding_defense: EmbeddingDefenseOption = None,
    as_json: Json = False,
) -> None:
    """Train: submit the project's job, follow it, and collect the coordinator's part. Sites keep their own parts.

    Seals or embedding defenses that are given here are in place of those that `init` was given.

    Example: `privee federation run risk --out runs/risk`, then
    `privee federation run risk --out runs/risk-sealed --seal codes=8 --start-from runs/risk`
    """
    import contextlib
    import dataclasses

    from privee.federation.kits.project import Project
    from privee.federation.kits.run import JobTimeouts, run_project
    from privee.federation.kits.start_kit import local_kits, parts_of

    opened = Project.open(project)
    job = opened.job
    if seal or sensitive or embedding_defense:
        seals = job_seals(seal, sensitive, job.parties, job.source)
        defenses = given_embedding_defenses(embedding_defense, job.parties[1:])
        job = dataclasses.replace(job, seals=seals, embedding_defenses=defenses)
    if start_from is not None:
        job = dataclasses.replace(job, run=run.name, start_from=start_from.name)
    opened = dataclasses.replace(opened, job=job)
    timeouts = JobTimeouts(sites=wait, attempts=attempts)
    parts = parts_of(opened) if local else None
    with local_kits(opened) if local else contextlib.nullcontext():

        def work(told: Callable[[Mapping[str, Any]], None]) -> TrainingOutcome:
            return run_project(opened, run, timeouts=timeouts, parts=parts, on_state=told)

        show_outcome(_followed("training", work), as_json)


def _data(
    dataset: str | None,
    shares: tuple[int, float | None, How | None],
    party: list[str] | None,
    active: str | None,
    ids: list[str] | None,
    label: str | None,
    test_share: float,
    seed: int,
) -> tuple[tuple[str, ...], Mapping[str, Any], dict[str, SiteSettings]]:
    """Site names, source, and each site's own settings where they were given."""
    from privee.federation.settings import dataset_source, table_sites, table_source

    if bool(party) == bool(dataset):
        raise PriveeError("name a dataset, or own tables with --party, one of the two")
    if dataset:
        parties, fraction, how = shares
        names, source = dataset_source(dataset, parties=parties, adversary_fraction=fraction, how=how, seed=seed)
        return names, source, {}
    files = named_files([text for text in party or () if "=" in text])
    names = tuple(text.partition("=")[0] for text in party or ())
    if active not in names:
        raise PriveeError(f"which party holds the labels? Give --active, one of {', '.join(names)}")
    columns = id_columns(ids or (), files) if files else {}
    ordered = (active, *(name for name in names if name != active))
    return ordered, table_source(test_share), table_sites(files, columns, active, label)


def _job(
    names: tuple[str, ...],
    model: str,
    training: tuple[TrainingSettings, tuple[str, ...]],
    source: Mapping[str, Any],
    packing: str,
    told: tuple[list[str] | None, list[str] | None, list[str] | None],
    seconds: tuple[float, float],
) -> JobSettings:
    from privee.federation.settings import JobSettings
    from privee.federation.wire.tensors import Packing

    return JobSettings(
        run="run",
        parties=names,
        model=model,
        training=training[0],
        left_open=training[1],
        source=source,
        packing=Packing(packing),
        seals=job_seals(told[0], told[1], names, source),
        embedding_defenses=given_embedding_defenses(told[2], names[1:]),
        answer_seconds=seconds[0],
        align_seconds=seconds[1],
    )


def _followed(text: str, work: Callable[[Callable[[Mapping[str, Any]], None]], TrainingOutcome]) -> TrainingOutcome:
    try:
        with progress_bar(text) as bar:
            return work(lambda state: bar(state.get("done", 0), state.get("size") or None, state["phase"]))
    except KeyboardInterrupt:
        raise InterruptedByUserError("interrupted; the same command goes on after the last finished epoch") from None

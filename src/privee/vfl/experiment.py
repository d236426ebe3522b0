"""From joint data to a saved run, and back: what `privee train` does, and what `predict` and audits begin with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from privee.atomic import read_json, write_json
from privee.data.datasets import Dataset, load_dataset
from privee.data.partition import How, Partition, split_columns, split_image
from privee.data.tables import ALIGNED, Preprocessing, read_ids
from privee.data.tables.aligned import AlignedList
from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.embedding_defenses import EmbeddingDefense
from privee.vfl.embedding_defenses.given import check_combination, split_seals
from privee.vfl.embedding_defenses.noise import NoisyRecords, kept_noise_secret, read_noise_secret
from privee.vfl.joint_data import JointData, from_dataset, split_known
from privee.vfl.joint_model import JointModel, make_models
from privee.vfl.matched_tables import Tell
from privee.vfl.messages import Report
from privee.vfl.new_tables import new_rows
from privee.vfl.own_tables import UNLABELLED
from privee.vfl.run_format import PARTY, WEIGHTS, embedding_defenses_of, party_file, run_config, seals_of
from privee.vfl.runs import RunFolder, write_private
from privee.vfl.seal import Seal, told_by
from privee.vfl.seal.drawing import read_secret
from privee.vfl.seal.handed_over import put_codes, read_handed_over
from privee.vfl.seal.party import SealedRecords
from privee.vfl.seal.records import put_sent_codes, records_to_train, write_codes
from privee.vfl.seal.warm_start import warm_start
from privee.vfl.threads import threads_for, torch_threads
from privee.vfl.training import OnStep, TrainingSettings, train
from privee.vfl.worth import ModelWorth, measure_worth, write_worth


@dataclasses.dataclass(frozen=True)
class TrainingOutcome:
    """How a training ended.

    Attributes:
        run: its folder.
        epochs: passes over the training rows.
        train, test: loss and accuracy.
        worth: what the joint model is worth on test rows; None for a federated run, where no role could tell.
        seals: of the parties that are sealed, with what can ever leave them.
        embedding_defenses: of the parties that have one, with what it is and what it proves.
    """

    run: str
    epochs: int
    train: Report
    test: Report
    worth: ModelWorth | None = dataclasses.field(default=None, kw_only=True)
    seals: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict, kw_only=True)
    embedding_defenses: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict, kw_only=True)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        plain = dataclasses.asdict(self)
        worth = plain.pop("worth") or {}
        return plain | worth


def partition_of(
    dataset: Dataset, *, parties: int, adversary_fraction: float | None, how: How | None, seed: int
) -> Partition:
    """Who holds which columns of a dataset, encoded ones of a table together.

    Unless said otherwise, pictures are cut into strips and the columns of a table dealt out as they stand, in equal
    shares.
    """
    how = how or ("strips" if dataset.image_shape else "contiguous")
    if how == "strips":
        if dataset.image_shape is None:
            raise PriveeError(f"{dataset.name} is a table; strips are for pictures (use contiguous or random)")
        return split_image(dataset.image_shape, parties=parties, adversary_fraction=adversary_fraction)
    return split_columns(
        dataset.n_features,
        parties=parties,
        adversary_fraction=1 / parties if adversary_fraction is None else adversary_fraction,
        how=how,
        seed=seed,
        groups=dataset.groups or None,
    )


def train_run(
    path: Path,
    data: JointData,
    model: str,
    settings: TrainingSettings,
    *,
    on_step: OnStep = lambda *_: None,
    threads: int | None = None,
    seals: Mapping[str, Seal] | None = None,
    teacher: JointModel | None = None,
    embedding_defenses: Mapping[str, EmbeddingDefense] | None = None,
) -> TrainingOutcome:
    """Train a joint model into a run folder; an interrupted run with the same settings goes on where it stopped.

    Args:
        path: the run's folder.
        data: what to train on.
        model: name of the architecture.
        settings: how to train.
        on_step: told how far it is.
        threads: of torch; chosen by the size of the model and the batch unless given.
        seals: of the passive parties that are to be sealed, by name.
        teacher: a finished, unsealed model of the same records to begin with.
        embedding_defenses: of the passive parties that are to have one, by name; HashVFL becomes the seal that it is.
    """
    seals, defenses = split_seals(seals or {}, embedding_defenses or {})
    check_combination(defenses, seals, list(data.columns))
    run = RunFolder.create(path, _config(data, model, settings, seals, defenses))
    with run.alone():
        joint = _prepared(run, data, model, settings.seed, seals, defenses)
        with torch_threads(threads_for(joint, settings.batch_size) if threads is None else threads):
            return _trained(run, joint, data, settings, on_step, teacher)


def _prepared(
    run: RunFolder,
    data: JointData,
    model: str,
    seed: int,
    seals: Mapping[str, Seal],
    defenses: Mapping[str, EmbeddingDefense],
) -> JointModel:
    """An untrained joint model, with what its parties draw and keep in the run."""
    sealed = records_to_train(data, seals, {name: run.part(name) for name in seals})
    noisy = {
        name: NoisyRecords(kept_noise_secret(run.part(name)), data.ids) for name, one in defenses.items() if one.noisy
    }
    return _joint_model(data, model, seed, seals, sealed, defenses, noisy)


def _trained(
    run: RunFolder,
    joint: JointModel,
    data: JointData,
    settings: TrainingSettings,
    on_step: OnStep,
    teacher: JointModel | None = None,
) -> TrainingOutcome:
    for party, files in data.private.items():
        write_private(run.part(party), files)
    for party, about in party_files(run.config, data.shapes).items():
        write_json(run.part(party) / PARTY, about)
    rows = torch.from_numpy(data.train)
    joint.prepare(rows, scaling=settings.scaling, class_weights=settings.class_weights, seed=settings.seed)
    if teacher is not None:
        warm_start(joint, teacher, rows, settings.seed)
    progress = train(joint.coordinator, joint.learners, rows, settings, keeper=run, on_step=on_step)
    for sealed in joint.sealed:
        write_codes(run.part(sealed.name), sealed.entities, sealed.seal_records())
    reports = [joint.coordinator.evaluate(torch.from_numpy(rows)) for rows in (data.train, data.test)]
    worth = measure_worth(joint, data)
    write_worth(run.path, worth)
    run.log({"epoch": progress.epoch, "final": True, "train": _plain(reports[0]), "test": _plain(reports[1])})
    run.finish(joint.learners)
    told = {party.name: told_by(party.seal) for party in joint.sealed}
    defenses = embedding_defenses_of(run.config)
    defended = {name: one.told(data.columns[name][data.train]) for name, one in defenses.items()}
    return TrainingOutcome(
        str(run.path), progress.epoch, *reports, worth=worth, seals=told, embedding_defenses=defended
    )


def open_run(
    path: Path,
    files: Mapping[str, Path] | None = None,
    data_dir: Path | None = None,
    *,
    codes: Mapping[str, Path] | None = None,
    progress: Progress | None = None,
    tell: Tell = lambda line: None,
) -> tuple[JointModel, JointData]:
    """A trained joint model with the data to predict on: its dataset, or new tables of the parties.

    Tables with the ids of the training, or of the command before, are not aligned again. Otherwise `progress` is told
    how far the alignment is, and `tell` why there is one. Of sealed parties that have handed over their `codes`, in a
    file each, neither a table nor a part of the run is read.
    """
    run, gone = RunFolder.open(path), codes or {}
    config = run.config
    weights = {name: config["files"].get(f"parties/{name}/{WEIGHTS}", "") for name in gone}
    handed_over = read_handed_over(gone, weights, seals_of(config))
    run.check_files(without=gone)
    here = [name for name in config["parties"] if name not in gone]
    if "dataset" in config["data"]:
        if files:
            raise PriveeError(f"{path} was trained on the dataset {config['data']['dataset']}; it takes no tables")
        dataset = load_dataset(config["data"]["dataset"], data_dir=data_dir, seed=config["training"]["seed"])
        data = from_dataset(dataset, Partition.from_dict(config["data"]["partition"]))
    else:
        if not files:
            raise PriveeError(f"{path} was trained on the parties' own tables; name new ones with --party NAME=FILE")
        data = new_rows(
            files,
            config["data"],
            {name: _private(run, name) for name in here},
            trained_on=_trained_on(run, config),
            folders={name: run.part(name) for name in here},
            without=gone,
            progress=progress,
            tell=tell,
        )
    data = put_codes(data, config["parties"], handed_over) if gone else data
    return open_model(path, data), data


def open_model(path: Path, data: JointData) -> JointModel:
    """A finished run's model, on data that is at hand already; its parties send the codes that they sent before."""
    run, gone = RunFolder.open(path), data.handed_over
    run.check_files(without=gone)
    seals = seals_of(run.config)
    sealed = {name: SealedRecords(read_secret(run.part(name)), data.ids) for name in seals if name not in gone}
    sealed |= {name: SealedRecords(entities=data.ids, sent=codes) for name, codes in gone.items()}
    defenses = embedding_defenses_of(run.config)
    noisy = {
        name: NoisyRecords(read_noise_secret(run.part(name)), data.ids) for name, one in defenses.items() if one.noisy
    }
    joint = _joint_model(data, run.config["model"], run.config["training"]["seed"], seals, sealed, defenses, noisy)
    run.load_weights({role: learner for role, learner in joint.learners.items() if role not in gone})
    for party in joint.sealed:
        if party.name not in gone:
            put_sent_codes(party, run.part(party.name))
    return joint


def trained_data(path: Path, data: JointData) -> JointData:
    """Of an opened run the data that it was trained on, with the files that stay with each party.

    Of tables that means the same records: a sealed model has the same ones for training and for testing.
    """
    if data.ids is None:
        return data
    run, tables = RunFolder.open(path), data.about["tables"]
    aligned = {name: run.part(name) / ALIGNED for name in data.columns}
    if not aligned[next(iter(data.columns))].is_file() or data.seen is None:
        raise PriveeError(f"{path} does not tell which records it was trained on: train it again")
    columns = {name: tables["id_columns"][name] for name in data.columns}
    first = next(iter(data.columns))
    if tuple(read_ids(aligned[first], [columns[first]]).to_pylist()) != tuple(data.ids):
        raise PriveeError(f"these are not the records that {path} was trained on: give the tables of then")
    rows, known = np.arange(len(data.labels)), data.labelled
    private = {name: _private(run, name) | {ALIGNED: AlignedList(columns[name], data.ids)} for name in data.columns}
    return dataclasses.replace(
        data,
        train=rows[data.seen & known],
        test=rows[~data.seen & known],
        private={name: {k: v for k, v in files.items() if k != PARTY} for name, files in private.items()},
    )


def party_files(config: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]) -> dict[str, dict[str, Any]]:
    """What each party must know to serve its part alone, by party; nothing about another party's columns."""
    source, seed = config["data"], config["training"]["seed"]
    files: dict[str, dict[str, Any]] = {}
    for place, (name, shape) in enumerate(shapes.items()):
        mine: dict[str, Any] = {}
        if "tables" in source:
            mine["id_column"] = source["tables"]["id_columns"][name]
            given = source["tables"].get("delimiters", {}).get(name)
            mine |= {"delimiter": given} if given else {}
        elif "partition" in source:
            mine |= {"dataset": source["dataset"], "seed": seed, "part": source["partition"]["parts"][place]}
        files[name] = party_file(
            party=name,
            active=place == 0,
            model=config["model"],
            shape=shape,
            n_classes=len(config["classes"]),
            source=mine,
            seal=seals_of(config).get(name),
            embedding_defense=embedding_defenses_of(config).get(name),
        )
    return files


def describe_parties(path: Path) -> list[Path]:
    """Write the `party.json` files of a run that was trained before there were any."""
    run = RunFolder.open(path)
    run.check_files()
    noted, written = run.config["files"], []
    for party, about in party_files(run.config, _saved_shapes(run)).items():
        file = run.part(party) / PARTY
        if file.relative_to(path).as_posix() not in noted:
            write_json(file, about)
            written.append(file)
    run.note_files()
    return written


def _saved_shapes(run: RunFolder) -> dict[str, tuple[int, ...]]:
    """The shape of one row at each party, from what the run holds."""
    config = run.config
    if "partition" in config["data"]:
        partition = Partition.from_dict(config["data"]["partition"])
        return {part.name: part.shape for part in partition.parts}
    saved = {name: _private(run, name)["preprocessing.json"] for name in config["parties"]}
    return {name: (len(Preprocessing.from_dict(one).feature_names),) for name, one in saved.items()}


def _joint_model(
    data: JointData,
    model: str,
    seed: int,
    seals: Mapping[str, Seal] | None = None,
    sealed: Mapping[str, SealedRecords] | None = None,
    defenses: Mapping[str, EmbeddingDefense] | None = None,
    noisy: Mapping[str, NoisyRecords] | None = None,
) -> JointModel:
    bottoms, top = make_models(model, data.shapes, len(data.class_names), seed, seals, defenses)
    return JointModel(data.columns, data.labels, bottoms, top, sealed=sealed, noisy=noisy)


def _config(
    data: JointData,
    model: str,
    settings: TrainingSettings,
    seals: Mapping[str, Seal] | None = None,
    defenses: Mapping[str, EmbeddingDefense] | None = None,
) -> dict[str, Any]:
    return run_config(
        model=model,
        parties=list(data.columns),
        classes=data.class_names,
        rows=(len(data.train), len(data.test)),
        data=data.about,
        training=settings.as_dict(),
        seals=seals,
        embedding_defenses=defenses,
    )


def _trained_on(run: RunFolder, config: Mapping[str, Any]) -> frozenset[str] | None:
    """The ids of the training records, from those that the active party keeps; None if it keeps none."""
    tables, active = config["data"]["tables"], config["parties"][0]
    file = run.part(active) / ALIGNED
    if not file.is_file():
        return None
    ids = read_ids(file, [tables["id_columns"][active]])
    known = np.ones(len(ids), dtype=bool)
    if (unlabelled := run.part(active) / UNLABELLED).is_file():
        known[read_json(unlabelled)["rows"]] = False
    train, _ = split_known(known, tables["test_share"], config["training"]["seed"])
    return frozenset(ids.take(train).to_pylist())


def _private(run: RunFolder, party: str) -> dict[str, Any]:
    return {file.name: read_json(file) for file in run.part(party).glob("*.json")}


def _plain(report: Report) -> dict[str, Any]:
    return {"loss": report.loss, "accuracy": report.accuracy, "rows": report.rows}

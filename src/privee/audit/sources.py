"""Where subjects come from: a saved run, a dataset with a model trained for the purpose, or a user's own model."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from privee.attacks import white_box_of
from privee.attacks.own_model import Outputs, Scaling, from_callable
from privee.audit.subject import Rows, Subject, known_words
from privee.data.columns import SourceColumn, columns_of_names
from privee.data.datasets import load_dataset
from privee.data.partition import How, Partition
from privee.errors import PriveeError
from privee.progress import Progress
from privee.vfl.embedding_defenses.bottoms import DefendedBottom
from privee.vfl.experiment import open_run, partition_of, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.joint_model import JointModel
from privee.vfl.matched_tables import Tell
from privee.vfl.run_format import is_finished_run
from privee.vfl.runs import RunFolder
from privee.vfl.training import OnStep, TrainingSettings

EXAMPLE_ROWS = 64
ENOUGH_RECORDS = 100


def subject_from_run(
    path: Path,
    files: Mapping[str, Path] | None = None,
    data_dir: Path | None = None,
    *,
    progress: Progress | None = None,
    tell: Tell = lambda line: None,
) -> Subject:
    """A saved run: test records are attacked, training records are what an attacker may know.

    A run on the parties' own tables needs tables; of these, records that it was trained on are known and others are
    attacked. Where that cannot be told, all serve for both, in two disjoint parts.
    """
    trained, data = open_run(path, files, data_dir, progress=progress, tell=tell)
    config = RunFolder.open(path).config
    what = config["data"].get("dataset", path.name)
    return _subject(f"{what}, {config['model']}", config["model"], trained, data)


def each_against_all_others(subject: Subject) -> list[Subject]:
    """Of a run with sealed parties among several passive ones: each passive party in turn, with all others against it.

    A seal promises something about one party's records, so it is tried with everybody else on the attacker's side. Any
    other subject is left as it is.
    """
    passive = dict.fromkeys(column.party for column in subject.private_columns)
    if len(passive) < 2 or not subject.model.sealed:
        return [subject]
    return [subject.against(party) for party in passive]


def subject_from_dataset(
    name: str,
    model: str,
    run: Path,
    *,
    fraction: float | None = None,
    how: How | None = None,
    parties: int = 2,
    seed: int = 0,
    settings: TrainingSettings | None = None,
    data_dir: Path | None = None,
    on_step: OnStep = lambda *_: None,
) -> Subject:
    """Train a joint model on a dataset into a run folder, or take the one that is there already."""
    if not is_finished_run(run):
        dataset = load_dataset(name, data_dir=data_dir, seed=seed)
        partition = partition_of(dataset, parties=parties, adversary_fraction=fraction, how=how, seed=seed)
        training = settings or TrainingSettings(epochs=40, batch_size=32, learning_rate=1e-2, seed=seed)
        train_run(run, from_dataset(dataset, partition), model, training, on_step=on_step)
    return subject_from_run(run, data_dir=data_dir)


def subject_from_arrays(
    model: Callable[[Any, Any], Any],
    active_columns: ArrayLike,
    passive_columns: ArrayLike,
    *,
    outputs: Outputs = "scores",
    labels: ArrayLike | None = None,
    name: str = "own model",
) -> Subject:
    """A user's own model: a function of (active columns, passive columns) and rows to try it on.

    Columns may have any range: they are scaled to [0, 1] by the smallest and largest value given, which the attacker
    is taken to know; errors are in units of that range. Half of the rows at most are attacked, others serve as
    auxiliary rows.
    """
    own, unknown = _matrix(active_columns, "active_columns"), _matrix(passive_columns, "passive_columns")
    if len(own) != len(unknown):
        raise PriveeError(f"active_columns has {len(own)} rows, passive_columns {len(unknown)}; align them first")
    if len(own) < 4:
        raise PriveeError(f"{len(own)} rows are too few to attack; give 4 or more")
    own_scale, unknown_scale = Scaling(own), Scaling(unknown)
    scaled = own_scale.apply(own), unknown_scale.apply(unknown)
    example = scaled[0][:EXAMPLE_ROWS], scaled[1][:EXAMPLE_ROWS]
    joint = from_callable(model, own_scale, unknown_scale, example, outputs)
    known = None if labels is None else np.asarray(labels)
    if known is not None and (known.shape != (len(own),) or known.dtype.kind not in "iu"):
        raise PriveeError(f"labels must be {len(own)} class numbers, one per row")
    rows = np.arange(len(own))
    columns = torch.cat(scaled, dim=1).numpy()
    described = (*_named(active_columns, own, "active", 0), *_named(passive_columns, unknown, "passive", own.shape[1]))
    kind = "logistic" if joint.linear is not None else type(model).__name__
    return Subject(name, kind, joint, columns, rows, rows, known, described=described)


def _named(values: ArrayLike, matrix: Tensor, party: str, start: int) -> tuple[SourceColumn, ...]:
    """Columns by the names that a data frame gives them, or by number."""
    given = [str(name) for name in getattr(values, "columns", ())]
    names = given if len(given) == matrix.shape[1] else [f"{party} {k + 1}" for k in range(matrix.shape[1])]
    yes_no = ((matrix == 0) | (matrix == 1)).all(dim=0).tolist()
    return columns_of_names(names, party, start=start, yes_no=yes_no)


def subject_from_entry(entry: str) -> Subject:
    """`module:function`, where the function returns what `subject_from_arrays` takes: a mapping, or its first three."""
    module_name, colon, function_name = entry.partition(":")
    if not (module_name and colon and function_name):
        raise PriveeError(f"an entry point is written module:function, got {entry!r}")
    sys.path.insert(0, str(Path.cwd()))  # as `python -m` does
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise PriveeError(f"there is no module {error.name!r} for the entry point {entry}") from None
    finally:
        sys.path.pop(0)
    function = getattr(module, function_name, None)
    if not callable(function):
        raise PriveeError(f"{module_name} has no function {function_name}")
    parts = function()
    if isinstance(parts, tuple) and len(parts) == 3:
        parts = dict(zip(("model", "active_columns", "passive_columns"), parts, strict=True))
    allowed = {"model", "active_columns", "passive_columns", "outputs", "labels", "name"}
    if not isinstance(parts, Mapping) or not {"model", "active_columns", "passive_columns"} <= set(parts) <= allowed:
        raise PriveeError(
            f"{entry} must return (model, active_columns, passive_columns), or a mapping of {sorted(allowed)}"
        )
    return subject_from_arrays(**{"name": entry, **parts})


def _subject(name: str, model: str, trained: JointModel, data: JointData) -> Subject:
    joint = white_box_of(trained)
    columns = np.concatenate([values.reshape(len(values), -1) for values in data.columns.values()], axis=1)
    targets, auxiliary = _pools(data)
    labels = data.labels if data.labelled.any() else None  # new tables need not hold labels
    return Subject(
        f"{name}{known_words(joint)}",
        model,
        joint,
        columns,
        targets,
        auxiliary,
        labels,
        image=_image(data.about),
        described=data.described,
        active=next(iter(data.columns)),
        codes=np.stack([party.seal_records() for party in trained.sealed], axis=1) if trained.sealed else None,
        noise=_noise(trained),
        embedding_defenses=_embedding_defenses(trained),
    )


def _noise(trained: JointModel) -> NDArray[np.float64] | None:
    """What the parties with a noisy embedding drew for each row, side by side, as their secrets say."""
    parts = [party.noise(torch.arange(trained.rows)) for party in trained.noisy]
    return torch.cat(parts, dim=1).double().numpy() if parts else None


def _embedding_defenses(trained: JointModel) -> dict[str, str]:
    models = {party.name: party.learner.model for party in trained.parties}
    return {name: model.spec for name, model in models.items() if isinstance(model, DefendedBottom)}


def _pools(data: JointData) -> tuple[Rows, Rows]:
    """Records to attack, and those that an attacker may know.

    Of new tables, records that the model was trained on are what an attacker may know, and the others are attacked;
    where there are hardly any of one kind, all records serve for both.
    """
    if len(data.train):
        return data.test, data.train
    if data.seen is None or min(data.seen.sum(), (~data.seen).sum()) < ENOUGH_RECORDS:
        return data.test, data.test
    return data.test[~data.seen[data.test]], data.test[data.seen[data.test]]


def _image(about: Mapping[str, Any]) -> tuple[tuple[int, int, int], tuple[int, ...]] | None:
    """Picture datasets: the shape of a picture, and where each column belongs in it."""
    from privee.data.datasets import dataset_info

    if "partition" not in about:
        return None
    shape = dataset_info(about["dataset"]).picture
    partition = Partition.from_dict(about["partition"])
    places = tuple(place for part in partition.parts for place in part.features)
    return None if shape is None or math.prod(shape) != len(places) else (shape, places)


def _matrix(values: ArrayLike, name: str) -> Tensor:
    array: NDArray[Any] = np.asarray(values)
    if array.ndim != 2 or array.shape[1] == 0 or array.dtype.kind not in "fiub":
        raise PriveeError(f"{name} must be a (rows, columns) array of numbers, got shape {array.shape}")
    matrix = torch.from_numpy(array.astype(np.float64))
    if not torch.isfinite(matrix).all():
        raise PriveeError(f"{name} holds values that are not finite numbers")
    return matrix

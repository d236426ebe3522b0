"""The same steps in one process, pipelined and across machines; interrupted or not; and it does what it is for."""

import dataclasses

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.attacks.regressors import best_fit
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.errors import PriveeError
from privee.federation.settings import SiteSettings
from privee.federation.wire.frames import Note
from privee.version import __version__
from privee.vfl import JointModel, make_models
from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.embedding_defenses.mid import divergence
from privee.vfl.embedding_defenses.noise import NOISE_KEY, NoisyRecords
from privee.vfl.experiment import open_run, train_run
from privee.vfl.joint_data import JointData, from_dataset
from privee.vfl.messages import Work
from privee.vfl.training import TrainingSettings, all_rows, train
from tests._support.federation import door_of, largest_difference, same_as_local

SPECS = ("mid:weight=0.05", "dcor:weight=0.5", "dropout:rate=0.4", "adversarial:weight=1")
SHAPES = {"bank": (3,), "shop": (6,)}
SECRET = b"s" * 32


def local_data() -> JointData:
    return from_dataset(load_dataset("digits"), Partition.from_dict(dict(digits_job("mlp", 2).source["partition"])))


def small(spec: str | None, rows: int = 240) -> JointModel:
    """A label that needs half of what the shop has."""
    random = np.random.default_rng(3)
    columns = {name: random.random((rows, *shape)).astype(np.float32) for name, shape in SHAPES.items()}
    labels = (columns["bank"][:, 0] + columns["shop"][:, :3].sum(axis=1) > 2).astype(np.int64)
    bottoms, top = make_models("mlp", SHAPES, 2, 1, defenses={"shop": embedding_defense(spec)} if spec else None)
    return JointModel(columns, labels, bottoms, top, noisy={"shop": NoisyRecords(SECRET)})


def trained(spec: str | None, **settings) -> JointModel:
    joint = small(spec)
    given = {"epochs": 40, "batch_size": 40, "learning_rate": 3e-3} | settings
    train(joint.coordinator, joint.learners, all_rows(240), TrainingSettings(**given))
    return joint


def weights_of(joint: JointModel) -> dict[str, torch.Tensor]:
    return {f"{role}.{k}": v for role, learner in joint.learners.items() for k, v in learner.weights().items()}


def assert_same(one: JointModel, other: JointModel) -> None:
    mine, theirs = weights_of(one), weights_of(other)
    assert mine.keys() == theirs.keys()
    assert [name for name in mine if not torch.equal(mine[name], theirs[name])] == []


@pytest.mark.parametrize("spec", SPECS)
def test_with_one_batch_an_epoch_a_pipelined_training_is_the_plain_one(spec):
    """Then no embedding is older than the last step, so both are one algorithm: equal to the last bit."""
    assert_same(*(trained(spec, epochs=4, batch_size=240, pipeline=way) for way in (False, True)))


@pytest.mark.parametrize("spec", SPECS)
def test_a_pipelined_step_has_its_penalty_at_the_weights_of_then(spec):
    """With several batches it is another training than the plain one, the same whenever it is run."""
    one, same, other = (trained(spec, epochs=3, pipeline=way) for way in (True, True, False))
    assert_same(one, same)
    assert largest(one, other) > 1e-4
    changed = trained(None, epochs=3, pipeline=True)
    bottom = {k.replace("bottom.", ""): v for k, v in one.learners["shop"].weights().items() if k.startswith("bottom.")}
    plain = changed.learners["shop"].weights()
    assert max(float((bottom[k] - plain[k]).abs().max()) for k in plain) > 1e-4


def largest(one: JointModel, other: JointModel) -> float:
    mine, theirs = weights_of(one), weights_of(other)
    return max(float((mine[name].double() - theirs[name].double()).abs().max()) for name in mine)


@pytest.mark.parametrize(("spec", "pipeline"), [*((s, False) for s in SPECS), (SPECS[0], True), (SPECS[3], True)])
def test_the_same_weights_across_machines(spec, pipeline, tmp_path):
    job = digits_job("mlp", 3, pipeline=pipeline, seed=7)
    job = dataclasses.replace(job, embedding_defenses={"passive-1": embedding_defense(spec)})
    same_as_local(job, tmp_path)


@pytest.mark.parametrize("spec", SPECS)
def test_an_interrupted_training_ends_with_the_same_weights(spec, tmp_path):
    data, defenses = local_data(), {"passive-1": embedding_defense(spec)}
    settings = TrainingSettings(epochs=3, learning_rate=0.01, batch_size=256)

    class EnoughError(Exception):
        pass

    def stop(epoch, *_):
        if epoch == 3:
            raise EnoughError

    with pytest.raises(EnoughError):
        train_run(tmp_path / "a", data, "mlp", settings, embedding_defenses=defenses, on_step=stop)
    train_run(tmp_path / "a", data, "mlp", settings, embedding_defenses=defenses)
    train_run(tmp_path / "b", data, "mlp", settings, embedding_defenses=defenses)
    assert largest_difference(tmp_path / "a", tmp_path / "b") == 0.0


def test_another_defense_is_another_run(tmp_path):
    data, settings = local_data(), TrainingSettings(epochs=1, batch_size=256)
    train_run(tmp_path, data, "mlp", settings, embedding_defenses={"passive-1": embedding_defense("dcor")})
    with pytest.raises(PriveeError, match="other settings"):
        train_run(tmp_path, data, "mlp", settings, embedding_defenses={"passive-1": embedding_defense("mid")})
    assert not (tmp_path / "parties" / "passive-1" / NOISE_KEY).exists()  # a secret only where there is noise


def test_a_run_predicts_as_it_did_when_it_was_trained(tmp_path):
    """Accuracy on test records, noise included, when it was trained and when it is opened."""
    data = local_data()
    outcome = train_run(
        tmp_path, data, "mlp", TrainingSettings(epochs=4), embedding_defenses={"passive-1": embedding_defense(SPECS[0])}
    )
    assert outcome.embedding_defenses["passive-1"]["embedding_defense"] == SPECS[0]
    joint, again = open_run(tmp_path)
    assert joint.coordinator.evaluate(torch.from_numpy(again.test)) == outcome.test


def test_mid_tells_less_where_it_counts_more():
    found = []
    for weight in (0.001, 0.5):
        shop = trained(f"mid:weight={weight}").parties[1]
        with torch.inference_mode():
            found.append(float(divergence(*shop._bottom.spread(shop._bottom.bottom(shop._features))).mean()))
    assert found[1] < found[0] / 5


def test_dcor_keeps_back_what_the_task_does_not_need():
    """Of three columns that the label does not need, a regression from the embedding has all, or next to nothing."""
    left = []
    for spec in (None, "dcor:weight=0.3"):
        joint = trained(spec, epochs=60)
        shop = joint.parties[1]
        embedding, columns = shop._embed(torch.arange(240), train=False).double(), shop._features.double()[:, 3:]
        found = best_fit(embedding[:160].clone(), columns[:160])(embedding[160:])
        left.append(float((found - columns[160:]).square().mean() / columns[160:].var(dim=0).mean()))
        assert joint.coordinator.evaluate(torch.arange(240)).accuracy > 0.95
    assert left[0] < 0.1
    assert left[1] > 0.7


def test_a_party_with_one_yes_no_column_is_told_that_dcor_does_nothing(tmp_path):
    data = local_data()
    shop = list(data.columns)[-1]
    whole = data.columns[shop]
    for name, columns in (("yes-no", (whole[:, :1] > 0.1).astype(np.float32)), ("all", whole)):
        given = dataclasses.replace(data, columns={**data.columns, shop: columns}, described=())
        outcome = train_run(
            tmp_path / name,
            given,
            "mlp",
            TrainingSettings(epochs=1),
            embedding_defenses={shop: embedding_defense("dcor:weight=1")},
        )
        assert bool(outcome.embedding_defenses[shop]["caution"]) == (name == "yes-no")


def test_the_partys_own_adversary_is_kept_from_rebuilding(tmp_path):
    """On digits its error, in units of the columns' variance, was 0.34 without weight and 0.76 with."""
    data, errors = local_data(), []
    for weight in (0.001, 1):
        defenses = {"passive-1": embedding_defense(f"adversarial:weight={weight}")}
        train_run(tmp_path / str(weight), data, "mlp", TrainingSettings(), embedding_defenses=defenses)
        party = open_run(tmp_path / str(weight))[0].parties[1]
        columns = party._features[torch.from_numpy(data.test)]
        with torch.no_grad():
            model = party.learner.model.eval()
            errors.append(float(model.adversary.error(columns, model(columns))))
    assert errors[1] > errors[0] + 0.2


def test_a_noisy_site_trains_on_training_records_alone(tmp_path):
    """Draws of a training come from its seed: with other records a coordinator could take the noise off."""
    job = digits_job("mlp", 2)
    job = dataclasses.replace(job, embedding_defenses={"passive-1": embedding_defense("mid")})
    site, _ = door_of("passive-1", SiteSettings(folder=tmp_path))
    site.handle(Note("hello", {"version": __version__, "job": job.as_dict()}))
    counts = site.handle(Note("encode")).values
    site.handle(Note("build", {"n_classes": 10}))
    test = torch.arange(counts["train"], counts["train"] + 4)
    with pytest.raises(PriveeError, match="records of the training alone"):
        site.handle(Work(None, test, train=True))
    one, again = (site.handle(Work(None, test, train=False)).values for _ in range(2))
    assert torch.equal(one, again)
    site.handle(Work(None, torch.arange(4), train=True))

"""The attack by chosen columns, end to end: over HTTP, on a running gateway whose parties are processes with TLS."""

import contextlib
import dataclasses

import numpy as np
import pytest
import torch

import privee
from privee.attacks import ChosenColumns
from privee.audit import subject_from_run
from privee.client import Client, Refused, VariantsReached
from privee.data.datasets import load_dataset
from privee.gateway.demo import World, make_world, running
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings

RECORDS, ASKED = 30, 10
DEFENSE = "ordered-dp:epsilon=0.001"
BUDGET = ("--defense", DEFENSE, "--epsilon", "0.01")  # ten releases


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> World:
    """Digits, 8 of 64 columns the passive party's."""
    found = World(tmp_path_factory.mktemp("chosen"))
    dataset = load_dataset("digits", seed=1)
    partition = partition_of(dataset, parties=2, adversary_fraction=56 / 64, how="random", seed=1)
    settings = TrainingSettings(epochs=15, batch_size=32, learning_rate=1e-2, seed=1)
    train_run(found.run, from_dataset(dataset, partition), "logistic", settings)
    return make_world(found.folder)


@pytest.fixture(scope="module")
def samples(world):
    """Two groups of records, with what the attacker knows besides."""
    both = subject_from_run(world.run).sample(0, 2 * RECORDS, 500)
    parts = (slice(RECORDS), slice(RECORDS, None))
    return [dataclasses.replace(both, own=both.own[p], truth=both.truth[p], rows=both.rows[p]) for p in parts]


@contextlib.contextmanager
def asking(world: World, *options: str):
    with contextlib.ExitStack() as stack:
        gateway, _ = stack.enter_context(running(world, (*BUDGET, *options)))
        yield stack.enter_context(Client(gateway.ready["url"], key=world.api_key("consumer")))


def attack(sample, client: Client, questions: int):
    """Errors before any question, after one and so on."""
    entities = [str(row) for row in sample.rows]

    def oracle(own):
        release = client.infer(entities, own.numpy().astype(np.float32))
        return torch.from_numpy(np.asarray(release, dtype=np.float64))

    nothing = np.zeros((1, RECORDS, sample.model.n_classes))
    view = sample.view(nothing, privee.defense(DEFENSE), adaptive=True, oracle=oracle)
    torch.manual_seed(0)
    found = ChosenColumns(questions=questions).after_each(view)
    return (found - sample.truth).square().mean(dim=(1, 2))


def test_without_a_limit_of_variants_ten_charged_releases_tell_the_private_columns(world, samples):
    with asking(world, "--variants", "none") as client:
        errors = attack(samples[0], client, ASKED)
        assert errors[-1] < errors[0] / 10
        with pytest.raises(Refused):  # the budget is spent: ten releases is all it took
            client.infer(str(samples[0].rows[0]))


def test_by_default_one_question_is_answered_and_no_other(world, samples):
    with asking(world) as client:
        errors = attack(samples[1], client, 1)
        assert errors[0] / 10 < errors[1] < errors[0]
        with pytest.raises(VariantsReached):  # the first question is the same one and answered again, the next is not
            attack(samples[1], client, ASKED)
        told = client.price([str(row) for row in samples[1].rows])
        assert told.variants == {"used": 1, "allowed": 1}
        assert told.remaining == ASKED - 2

"""Embedding defenses under attack: they are in the white box, their noise is in the scores, and nobody is given it."""

import dataclasses

import numpy as np
import pytest
import torch
from benchmarks._shared.federation_jobs import digits_job

from privee.attacks import attack, white_box_of
from privee.attacks.chosen.rehearsal import with_rehearsal
from privee.attacks.most_likely import Problem
from privee.attacks.watch import Watch
from privee.audit.sources import subject_from_run
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.defenses import NoDefense
from privee.randomness import seeded
from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.experiment import open_run, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings


def made(folder, spec: str, model: str = "mlp", epochs: int = 12):
    data = from_dataset(load_dataset("digits"), Partition.from_dict(dict(digits_job(model, 2).source["partition"])))
    settings = TrainingSettings(epochs=epochs, scaling="standard")
    train_run(folder, data, model, settings, embedding_defenses={"passive-1": embedding_defense(spec)})
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made(tmp_path_factory.mktemp("noisy") / "run", "mid:weight=0.005")


@pytest.fixture(scope="module")
def subject(run):
    return subject_from_run(run)


def test_what_is_attacked_are_the_scores_that_are_handed_out(run, subject):
    joint, _ = open_run(run)
    sample = subject.sample(0, 60, 200)
    assert np.abs(sample.scores - joint.scores(torch.from_numpy(sample.rows))).max() < 1e-5
    with torch.no_grad():
        expected = subject.model.scores(sample.own, sample.truth).numpy()
    assert np.abs(sample.scores - expected).max() > 0.05  # on average they would be others


def test_every_answer_to_chosen_columns_has_the_same_noise(subject):
    sample = subject.sample(0, 20, 200)
    ask = sample.oracle(NoDefense(), 0)
    assert torch.equal(ask(sample.own), ask(sample.own))
    assert np.abs(ask(sample.own).numpy() - sample.scores).max() < 1e-12


def test_no_attacker_is_given_the_noise(subject):
    sample = subject.sample(0, 60, 200)
    assert sample.noise.shape == (60, 64)
    view = sample.view(sample.releases(NoDefense(), 0, 1), NoDefense(), adaptive=True)
    given = [getattr(view, field.name) for field in dataclasses.fields(view)]
    given += [getattr(view.auxiliary, field.name) for field in dataclasses.fields(view.auxiliary)]
    tensors = [one for one in given if isinstance(one, torch.Tensor)]
    assert len(tensors) >= 5
    assert not any(one.shape[-1] == 64 and one is not view.auxiliary.noise for one in tensors)
    # What it draws for rows of its own is not what the party drew for these.
    rows = np.setdiff1d(subject.auxiliary, sample.rows)
    theirs = subject.noise[rows]
    mine = view.auxiliary.noise.numpy()
    assert not (np.abs(mine[:, None, 0] - theirs[None, :, 0]) < 1e-12).any()


def test_it_simulates_noise_of_the_right_size(subject):
    """Log-scores of 400 records move as much by simulated noise as by the party's own.

    On average (their squares have heavy tails), within a tenth: six times the spread of what was simulated 40 times.
    """
    sample = subject.sample(0, 400, 50)
    with torch.no_grad():
        mean = subject.model.logits(sample.own, sample.truth)
        real = subject.model.logits(sample.own, sample.truth, noise=sample.noise) - mean
        noise = subject.model.simulated_noise(400, seeded(1, "test"))
        simulated = subject.model.logits(sample.own, sample.truth, noise=noise) - mean
    assert float(real.std()) > 0.1
    assert float(simulated.abs().mean() / real.abs().mean()) == pytest.approx(1, abs=0.1)


def test_other_simulations_of_the_same_rows_draw_anew(subject):
    rows = subject.sample(0, 20, 100).auxiliary
    scores = rows.scores(subject.model)
    assert torch.equal(rows.scores_again(subject.model, scores, 0), scores)
    again = [rows.scores_again(subject.model, scores, number) for number in (1, 1, 2)]
    assert torch.equal(again[0], again[1])
    assert (again[0] - again[2]).abs().max() > 0.01
    assert (again[0] - scores).abs().max() > 0.01


def test_rehearsed_rows_have_noise_of_the_attackers_own(subject):
    sample = subject.sample(0, 20, 200)
    view = sample.view(sample.releases(NoDefense(), 0, 1), NoDefense(), adaptive=True)
    _, rehearsal = with_rehearsal(view)
    answer = rehearsal.answer(view, rehearsal.own, 0)
    assert torch.allclose(answer, view.auxiliary.part(slice(len(rehearsal.own))).scores(subject.model))
    assert (answer - subject.model.scores(rehearsal.own, rehearsal.unknown)).abs().max() > 0.01


def test_trust_is_judged_by_the_noise_too(subject):
    """How far log-scores of auxiliary rows are from those on average: nothing without noise, and far with it."""
    sample = subject.sample(0, 20, 200)
    view = sample.view(sample.releases(NoDefense(), 0, 1), NoDefense(), adaptive=True)
    blind = dataclasses.replace(view, auxiliary=dataclasses.replace(view.auxiliary, noise=None))
    spread = [Problem(one, one.auxiliary, 1, 0.1, Watch())._errors_by_rank(one, 1)[1].mean() for one in (view, blind)]
    assert float(spread[1]) < 1e-5
    assert float(spread[0]) > 0.05


def test_gradients_pass_through_the_mean(subject):
    assert subject.model.differentiable
    assert subject.model.noise_width == 64
    view_of = subject.sample(0, 5, 50)
    unknown = view_of.truth.clone().requires_grad_()
    subject.model.logits(view_of.own, unknown).square().sum().backward()
    assert unknown.grad.abs().max() > 0


def test_another_cut_of_the_columns_keeps_the_noise(subject):
    sample, other = subject.sample(0, 30, 50), subject.at_fraction(0.25).sample(0, 30, 50)
    assert np.array_equal(sample.rows, other.rows)
    assert np.abs(sample.scores - other.scores).max() < 1e-6


def test_the_passive_side_is_not_kept_from_anything_by_its_own_noise(subject):
    sample = subject.swapped().sample(0, 30, 50)
    assert sample.noise is None
    assert sample.auxiliary.noise is None
    with torch.no_grad():
        assert np.abs(sample.scores - subject.model.scores(sample.truth, sample.own).numpy()).max() < 1e-6


@pytest.mark.parametrize("name", ["gradient-inversion:iterations=30", "prior-informed", "learned-inversion"])
def test_attacks_run_and_knowing_attacks_are_no_worse_than_their_guess(subject, name):
    """But for chance: 80 records of 32 columns, 5 % more at most."""
    sample = subject.sample(0, 80, 400)
    view = sample.view(sample.releases(NoDefense(), 0, 1), NoDefense(), adaptive=True)
    found = attack(name).run(view).unknown
    assert found.shape == sample.truth.shape
    guess = sample.guesses(0)["regression guess"]
    if not name.startswith("gradient"):
        assert float((found - sample.truth).square().mean()) < 1.05 * float((guess - sample.truth).square().mean())


def test_an_attacker_who_ignores_noise_would_do_worse(subject):
    """Prior-informed with rows simulated without noise believes the scores too much."""
    sample = subject.sample(0, 150, 400)
    view = sample.view(sample.releases(NoDefense(), 0, 1), NoDefense(), adaptive=True)
    blind = dataclasses.replace(view, auxiliary=dataclasses.replace(view.auxiliary, noise=None))
    errors = [
        float((attack("prior-informed").run(one).unknown - sample.truth).square().mean()) for one in (view, blind)
    ]
    assert errors[0] < 0.9 * errors[1]


@pytest.mark.parametrize("spec", ["dcor", "dropout", "adversarial"])
def test_what_only_trains_leaves_a_logistic_model_logistic(spec, tmp_path):
    joint, _ = open_run(made(tmp_path / "run", spec, "logistic", epochs=1))
    model = white_box_of(joint)
    assert model.linear is not None
    assert model.noise_width == 0
    assert subject_from_run(tmp_path / "run").embedding_defenses == {"passive-1": embedding_defense(spec).spec}

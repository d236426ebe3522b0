"""Attacks on sealed parties: the code that was sent is all there is to learn, whatever is asked."""

import dataclasses

import numpy as np
import pytest
import torch

from privee.attacks import attack, known_attacks
from privee.attacks.sealed_code import as_numbers, simulated_codes
from privee.audit import subject_from_run
from privee.audit.task import simulated
from privee.defenses import defense
from privee.errors import SettingError
from privee.randomness import seeded
from privee.theory import channel
from privee.vfl.experiment import open_run
from privee.vfl.seal import Seal
from tests._support.reachable import reachable_numbers
from tests._support.sealed_runs import sealed_run

NONE = defense("none")


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return sealed_run(tmp_path_factory.mktemp("plain") / "run", Seal(codes=8))


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    return sealed_run(tmp_path_factory.mktemp("noisy") / "run", Seal(codes=8, epsilon=1.0), epochs=3)


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    seals = Seal(codes=4), Seal(codes=8, epsilon=2.0)
    return sealed_run(tmp_path_factory.mktemp("three") / "run", *seals, epochs=3)


def viewed(sample, spec="none", **more):
    chosen = defense(spec)
    return sample.view(simulated(sample, chosen, 0, 1), chosen, adaptive=True, **more)


# --- the white box ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", ["plain", "noisy", "three"])
def test_records_have_the_scores_of_the_codes_that_were_sent(run, request):
    path = request.getfixturevalue(run)
    subject, (joint, _) = subject_from_run(path), open_run(path)
    sample = subject.sample(0, 100, 50)
    rows = torch.from_numpy(sample.rows)
    np.testing.assert_allclose(sample.scores, joint.scores(rows), atol=1e-5)
    sent = np.stack([party.seal_records()[sample.rows] for party in joint.sealed], axis=1)
    assert np.array_equal(sample.codes.numpy(), sent)


def test_every_answer_is_made_of_the_same_code(noisy):
    """With other own columns too: an answer is that of the model for these columns and the code that was sent."""
    sample = subject_from_run(noisy).sample(0, 80, 50)
    ask = sample.oracle(NONE, 0)
    np.testing.assert_array_equal(ask(sample.own).numpy(), sample.scores)
    other = torch.rand(sample.own.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    answers = [ask(other).numpy() for _ in range(3)]
    assert all(np.array_equal(answers[0], later) for later in answers[1:])
    by_code = sample.model.scores(other, torch.rand_like(sample.truth), sample.codes).numpy()
    np.testing.assert_array_equal(answers[0], by_code)
    chosen = sample.model.scores(other, sample.truth).numpy()  # without the draw that was made once
    assert np.abs(chosen - answers[0]).max() > 0.01


def test_auxiliary_rows_are_drawn_by_the_attacker_itself_as_the_channel_says(noisy):
    """800 rows: the share that keeps its code is within 4 standard errors, which chance exceeds once in 15,000."""
    subject = subject_from_run(noisy)
    rows = subject.sample(0, 50, 800).auxiliary
    same = channel(8, 1.0)[0, 0]
    kept = (subject.model._logits.chosen(rows.unknown) == rows.codes).double().mean()
    assert abs(float(kept) - same) < 4 * (same * (1 - same) / len(rows)) ** 0.5
    assert (subject.model.simulated_codes(rows.own, rows.unknown, seeded(7)) != rows.codes).any()
    assert torch.equal(subject.sample(0, 50, 800).auxiliary.codes, rows.codes)  # the same seed, the same draws
    every = subject.sample(3, None, 10)
    assert np.array_equal(every.codes.numpy(), subject.codes[subject.targets])  # whatever the seed, what was sent


def test_columns_behind_a_code_have_no_gradient_and_cannot_be_reached(plain):
    sample = subject_from_run(plain).sample(0, 40, 60)
    view = viewed(sample)
    assert not view.model.differentiable
    needing = [name for name, cls in known_attacks().items() if cls.needs.gradients]
    assert needing
    for name in needing:
        assert attack(name).why_not(view) == "no gradient passes a sealed code"
    marked = dataclasses.replace(sample, truth=sample.truth + torch.rand_like(sample.truth) * 1e-6)
    assert not np.isin(marked.truth.numpy(), reachable_numbers(viewed(marked))).any()


def test_all_others_against_one_is_the_same_model(three):
    subject = subject_from_run(three)
    usual = subject.sample(0, 60, 30)
    for party, held in (("passive-1", (False, True)), ("passive-2", (True, False))):
        other = subject.against(party)
        sample = other.sample(0, 60, 30)
        assert np.array_equal(sample.rows, usual.rows)
        np.testing.assert_allclose(sample.scores, usual.scores, atol=1e-6)
        assert other.model.held == held
        assert {column.party for column in other.private_columns} == {party}
        assert party not in other.active
        assert other.name.endswith(f"all others against {party}")
        answers = sample.oracle(NONE, 0)(1 - sample.own).numpy()
        codes = sample.model.asked_codes(1 - sample.own, sample.truth, sample.codes)
        fixed, free = (held.index(held_by) for held_by in (False, True))
        assert torch.equal(codes[:, fixed], sample.codes[:, fixed])  # what the asked party sent stays
        assert not torch.equal(codes[:, free], sample.codes[:, free])  # who helps the attacker sends what it likes
        np.testing.assert_array_equal(answers, sample.model.scores(1 - sample.own, sample.truth, codes).numpy())
    with pytest.raises(SettingError, match="no party 'nobody'"):
        subject.against("nobody")


# --- the attack ------------------------------------------------------------------------------------------------------


def test_no_question_tells_more_than_the_code(plain):
    """Paired by records: no attack beats the code by more than 3.3 standard errors, which chance does once in 2,000."""
    sample = subject_from_run(plain).sample(0, 60, 500)
    guess = (sample.guesses(0)["regression guess"] - sample.truth).square().mean()

    def missed(spec):
        made = attack(spec)
        view = viewed(sample, oracle=sample.oracle(NONE, 0) if made.needs.oracle else None)
        assert made.why_not(view) is None
        return (made.run(view, seed=0).unknown - sample.truth).square().mean(dim=1)

    by_code = missed("sealed-code")
    assert by_code.mean() < 0.9 * guess  # eight codes do tell something of 32 pixels
    for spec in ("chosen-columns:questions=5", "learned-inversion", "boosted-trees", "logistic-regression"):
        worse = by_code - missed(spec)
        assert worse.mean() < 3.3 * worse.std() / len(worse) ** 0.5, spec


def test_the_code_can_be_had_by_asking(plain):
    """So the attack is not given more than an asker of undefended scores may have."""
    sample = subject_from_run(plain).sample(0, 60, 50)
    answer = sample.oracle(NONE, 0)(sample.own)
    tried = [sample.model.scores(sample.own, sample.truth, torch.full_like(sample.codes, code)) for code in range(8)]
    found = torch.stack([(one - answer).abs().sum(dim=1) for one in tried]).argmin(dim=0)
    assert torch.equal(found, sample.codes[:, 0].long())


def test_a_code_without_meaning_is_not_believed(noisy):
    """The codes that were sent, dealt out anew: estimates are no better than the guess (3.3 standard errors)."""
    sample = subject_from_run(noisy).sample(0, 300, 500)
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    view = dataclasses.replace(viewed(sample), codes=sample.codes[order])
    guess = (sample.guesses(0)["regression guess"] - sample.truth).square().mean(dim=1)
    gained = guess - (attack("sealed-code").run(view).unknown - sample.truth).square().mean(dim=1)
    assert gained.mean() < 3.3 * gained.std() / 300**0.5


@pytest.mark.parametrize("settings", [{"learner": "trees"}, {"own_columns": False}])
def test_other_ways_to_learn(plain, settings):
    sample = subject_from_run(plain).sample(0, 60, 300)
    found = attack("sealed-code", **settings).run(viewed(sample)).unknown
    means = sample.auxiliary.unknown.mean(dim=0)
    assert (found - sample.truth).square().mean() < 0.9 * (means - sample.truth).square().mean()
    if "own_columns" in settings:  # whoever has the same code is told the same
        same = sample.codes[:, 0] == sample.codes[0, 0]
        assert torch.allclose(found[same], found[0].expand(int(same.sum()), -1))


def test_only_codes_of_others_count_and_noise_is_simulated_often(three, plain):
    model = subject_from_run(three).against("passive-2").model
    codes = torch.tensor([[3, 7], [0, 1]], dtype=torch.uint8)
    assert as_numbers(model, codes).argmax(dim=1).tolist() == [7, 1]
    rows = subject_from_run(three).sample(0, 20, 100).auxiliary
    drawn = simulated_codes(subject_from_run(three).model, rows, 4)
    assert len(drawn) == 4
    assert all(torch.equal(drawn[0][:, 0], later[:, 0]) for later in drawn)
    assert not torch.equal(drawn[0][:, 1], drawn[1][:, 1])
    known = subject_from_run(plain).sample(0, 20, 100).auxiliary
    assert len(simulated_codes(subject_from_run(plain).model, known, 4)) == 1


def test_where_a_code_is_not_all_it_is_left_out(case, three, tmp_path):
    assert attack("sealed-code").why_not(case.view("none", adaptive=True)) == "no party is sealed"
    passive = subject_from_run(three).swapped()  # the active party's columns are not sealed
    assert attack("sealed-code").why_not(viewed(passive.sample(0, 20, 30))) == "no party is sealed"
    mixed = subject_from_run(sealed_run(tmp_path / "mixed", Seal(codes=4), None, epochs=1))
    assert attack("sealed-code").why_not(viewed(mixed.sample(0, 20, 30))).startswith("not all private columns")
    assert attack("sealed-code").why_not(viewed(mixed.against("passive-1").sample(0, 20, 30))) is None
    with pytest.raises(SettingError, match="learner must be"):
        attack("sealed-code", learner="luck")

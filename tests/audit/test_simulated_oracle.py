"""An attack that was interrupted asks again what it lost: that is the same question, and has the same answer."""

import numpy as np
import pytest
import torch

from privee.attacks import Watch, attack
from privee.audit import subject_from_arrays
from privee.audit.api import attack_once
from privee.audit.simulated_oracle import SimulatedOracle
from privee.audit.task import simulated
from privee.defenses import defense
from privee.randomness import seeded
from tests._support.own_models import CLASSES, columns, numpy_model

FRESH = "one-parameter:epsilon=8"
ASKING = ("chosen-columns:questions=3", "zeroth-order:questions=3,steps=6,directions=2")
SELDOM = 3600.0


class Stopped(Exception):  # noqa: N818 (nothing is wrong)
    pass


def stopping(after: int):
    """Progress that ends the process, as it were, after so many steps."""
    left = [after]

    def step(done, total):
        left[0] -= 1
        if left[0] == 0:
            raise Stopped

    return step


@pytest.fixture(scope="module")
def subject():
    return subject_from_arrays(numpy_model, *columns(300))


@pytest.fixture
def asked(monkeypatch):
    """What was asked of any simulated oracle, with the answers."""
    kept, ask = [], SimulatedOracle.__call__

    def spy(self, own):
        answer = ask(self, own)
        kept.append(own.numpy().tobytes() + answer.numpy().tobytes())
        return answer

    monkeypatch.setattr(SimulatedOracle, "__call__", spy)
    return kept


def told(subject, spec, watch=None, records=30, rows=120):
    some = {"records": records, "auxiliary_rows": rows, "watch_for": lambda key: watch or Watch()}
    return attack_once(subject, spec, FRESH, **some)[2]


@pytest.mark.parametrize("spec", ASKING)
@pytest.mark.parametrize("every", [0.0, SELDOM])
def test_an_interrupted_attack_ends_as_a_whole_one_and_asks_nothing_else(subject, spec, every, asked, tmp_path):
    """With checkpoints at every step, and without any before it is interrupted."""
    whole, steps = told(subject, spec), 2 if spec.startswith("chosen") else 7
    questions = list(asked)
    assert len(set(questions)) == 3
    for _ in range(2 if every else 1):
        with pytest.raises(Stopped):
            told(subject, spec, Watch(stopping(steps), tmp_path, every))
    assert torch.equal(told(subject, spec, Watch(folder=tmp_path, every=every)), whole)
    assert set(asked) == set(questions)
    assert len(asked) == (3 + 3 if every == 0 else 3 + 2 + 2 + 3)  # those asked again are the same ones


def test_an_attack_that_runs_out_of_columns_to_ask_with_is_answered_anew_each_time(subject, asked, tmp_path):
    """One record and two rows to ask with: the same has to be asked again, before a checkpoint and after it."""
    spec = "chosen-columns:questions=5,allowed=rows"
    whole = told(subject, spec, None, 1, 2)
    columns = {one[: len(one) - 8 * CLASSES] for one in asked}
    assert len(asked) == len(set(asked)) == 5 > len(columns)
    with pytest.raises(Stopped):
        told(subject, spec, Watch(stopping(3), tmp_path, 0.0), 1, 2)
    assert torch.equal(told(subject, spec, Watch(folder=tmp_path, every=0.0), 1, 2), whole)
    assert asked[5:] == asked[:5]


def repeated(sample, watch=None):
    """Answers to an attack that asks honestly twice in each of two steps, and once more behind them."""
    oracle = sample.oracle(defense(FRESH), 0)
    steps = oracle.watched(watch or Watch()).steps("questions", 2, {})
    found = [oracle(sample.own) for _ in steps for _ in range(2)]
    return torch.stack([*found, oracle(sample.own)])


def test_the_same_columns_asked_on_both_sides_of_a_checkpoint_are_two_questions(subject, tmp_path):
    """Otherwise a second answer would be the first one again, and the attack would seem to learn less than it does."""
    sample = subject.sample(0, 30, 120)
    whole = repeated(sample)
    assert len(whole) == len({answer.numpy().tobytes() for answer in whole}) == 5
    view = sample.view(np.zeros((1, 30, CLASSES)), defense(FRESH), adaptive=True)
    watch = Watch(stopping(1), tmp_path, 0.0)
    watch.begin({}, 0, view)
    with pytest.raises(Stopped):
        repeated(sample, watch)
    again = Watch(folder=tmp_path, every=0.0)
    again.begin({}, 0, view)
    assert torch.equal(repeated(sample, again), whole[2:])


class Drawn:
    """Stands in for a defense: hands out its draws."""

    slow, spec = False, "drawn"

    def release(self, scores, *, draws):
        return draws.uniform(scores.shape)


def test_answers_are_independent_whatever_is_asked_and_when(subject):
    """Of 11 answers with 600 uniform numbers: one of 55 correlations is beyond 6.3 sigma by chance once in 10^7."""
    sample = subject.sample(0, 100, 100)
    ask = sample.oracle(Drawn(), 0)
    steps = ask.watched(Watch()).steps("questions", 3, {})
    drawn = [ask(sample.own), ask(sample.own), ask(1 - sample.own)]  # before the loop
    drawn += [ask(own) for _ in steps for own in (sample.own, sample.own)]
    drawn.append(ask(sample.own))  # behind it
    drawn.append(sample.oracle(Drawn(), 0)(sample.own / 2))  # of another process, which asks something else first
    values = np.stack([one.numpy().flatten() for one in drawn])
    assert values.shape == (11, 100 * CLASSES)
    off = np.corrcoef(values) - np.eye(len(values))
    assert np.abs(off).max() < 6.3 / np.sqrt(values.shape[1])


def test_answers_are_those_of_the_seed_and_in_order(subject):
    sample, made = subject.sample(0, 30, 120), defense(FRESH)
    first, second = sample.oracle(made, 0), sample.oracle(made, 0)
    assert all(torch.equal(first(sample.own), second(sample.own)) for _ in range(3))
    assert not torch.equal(sample.oracle(made, 1)(sample.own), sample.oracle(made, 0)(sample.own))
    assert not torch.equal(
        sample.oracle(defense("one-parameter:epsilon=9"), 0)(sample.own), sample.oracle(made, 0)(sample.own)
    )
    rounding = sample.oracle(defense("rounding:digits=2"), 0)  # draws nothing
    assert torch.equal(rounding(sample.own), rounding(sample.own))


def test_one_oracle_serves_an_attack_that_is_run_again(subject, tmp_path):
    """In one process as in two: an attack that begins anew asks what it asked."""
    sample, made = subject.sample(0, 30, 120), defense(FRESH)
    oracle = sample.oracle(made, 0)
    view = sample.view(simulated(sample, made, 0, 1), made, adaptive=True, oracle=oracle)
    whole = attack(ASKING[0]).run(view, watch=oracle.watched(Watch())).unknown
    with pytest.raises(Stopped):
        attack(ASKING[0]).run(view, watch=oracle.watched(Watch(stopping(2), tmp_path, 0.0)))
    found = attack(ASKING[0]).run(view, watch=oracle.watched(Watch(folder=tmp_path, every=0.0))).unknown
    assert torch.equal(found, whole)
    assert not tmp_path.exists()


def test_releases_are_drawn_apart_from_answers(subject):
    sample, made = subject.sample(0, 30, 120), defense(FRESH)
    released = sample.releases(made, 0, 1)[0]
    assert not np.array_equal(sample.oracle(made, 0)(sample.own).numpy(), released)
    assert np.array_equal(released, made.release(sample.scores, draws=seeded(0, "release", made.spec)))

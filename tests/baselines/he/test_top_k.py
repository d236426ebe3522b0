"""Top-k under homomorphic encryption: never a silent error, and who holds what."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import privee
from privee.baselines import EncryptedTopK
from privee.baselines.he import clear
from privee.baselines.he import top_k_defense as defense_module
from privee.baselines.he.clear import simulate
from privee.baselines.he.encrypted_session import Session, encrypted_top_k, read_result
from privee.baselines.he.parameters import FLOOD
from privee.baselines.he.planning import plan
from privee.baselines.he.roles import Sender
from privee.baselines.he.seal import seal
from privee.cli.app import app
from tests._support.scores import softmax_rows

GAP = 1 / 1024


# --- never silently wrong --------------------------------------------------------------------------------------------


def adversarial(classes: int, k: int, gap: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Scores with ties and near ties at, around and in groups across the boundary; differences up to 1."""
    out = np.empty((rows, classes))
    for row in out:
        c = np.sort(rng.random(classes))[::-1] * rng.choice([1.0, 0.3, 0.01])
        tiny = gap * 10.0 ** rng.uniform(-6, 0.3)
        kind = rng.integers(6)
        if kind == 0:
            first = rng.integers(0, k)
            last = rng.integers(k, classes)
            c[first : last + 1] = c[first] + tiny * rng.choice([0, 1]) * rng.random(last + 1 - first)
        elif kind == 1:
            c[k] = c[k - 1] + tiny * rng.choice([-1, 0, 1])
        elif kind == 2:
            c = 0.5 + tiny * rng.random(classes)
        elif kind == 3:
            c = np.round(c * 5) / 5
        elif kind == 4:
            c = 0.5 - tiny * np.arange(classes) / classes
        else:
            c[:k], c[k:] = (
                0.7 + tiny * rng.choice([0, 1]) * rng.random(k),
                0.7 - gap * rng.choice([0.1, 0.5, 0.9, 1.0001]),
            )
        row[:] = np.maximum(c, c.max() - 1)[rng.permutation(classes)]
    return out


def assert_true(result, scores) -> None:
    """All that is claimed holds: every group lies strictly above whatever comes after it."""
    after = set(range(len(scores)))
    for group in result.groups:
        after -= set(group)
        assert not after or scores[list(group)].min() > scores[list(after)].max()
    assert len(result.classes) <= result.k
    if result.decided:
        assert len(result.classes) == result.k
    else:
        assert not set(result.undecided_classes) & set(result.classes)


@pytest.mark.parametrize(
    ("classes", "k", "rows"), [(10, 5, 6000), (10, 1, 2000), (3, 2, 2000), (20, 10, 1000), (100, 5, 60)]
)
def test_simulated_with_noise_nothing_is_silently_wrong_and_clear_cases_are_decided(classes, k, rows):
    made, rng = plan(classes, k), np.random.default_rng(classes + k)
    clear = decided = 0
    for _ in range(-(-rows // made.records)):
        scores = adversarial(classes, k, made.gap, made.records, rng)
        results = simulate(made, scores, rng)
        for row, values in zip(scores, results + FLOOD * rng.normal(size=results.shape), strict=True):
            result = read_result(values, made, 0.0)
            assert_true(result, row)
            order = np.sort(row)[::-1]
            if order[k - 1] - order[k] >= made.gap_bound:
                clear += 1
                decided += result.decided
    assert clear == decided > 0


def test_more_noise_than_planned_makes_errors_that_this_file_would_see(monkeypatch):
    """The test above can fail: with noise 16 times that of the plan, ties do get decided."""
    made, rng = plan(10, 5), np.random.default_rng(0)
    monkeypatch.setattr(clear, "NOISE_BITS", clear.NOISE_BITS + 4)
    results = simulate(made, np.full((made.records, 10), 0.1), rng)
    assert any(read_result(values.clip(-0.9, 5.9), made, 0.0).groups for values in results)


def test_chunks_give_what_one_ciphertext_gives():
    """150 classes take three chunks; without noise the result is k minus the rank, and 0 for the others."""
    made = plan(150, 3, gap=1 / 16)
    assert made.chunks == 3
    scores = np.full(150, 0.2)
    scores[[7, 70, 149]] = 0.9, 0.7, 0.5
    values = simulate(made, scores[None], None)[0]
    wanted = np.zeros(150)
    wanted[[7, 70, 149]] = 3, 2, 1
    assert np.abs(values - wanted).max() < 0.02
    noisy = simulate(made, scores[None], np.random.default_rng(1))[0]
    assert read_result(noisy, made, 0.0).groups == ((7,), (70,), (149,))


# --- encrypted for real ----------------------------------------------------------------------------------------------


def test_encrypted_results_are_right_ties_are_undecided_and_the_noise_is_as_planned(ten):
    """102 records: 50 adversarial, 30 random, the rest exact ties of all classes, which show the noise."""
    rng = np.random.default_rng(7)
    scores = np.full((102, 10), 0.1)
    scores[:50] = adversarial(10, 5, GAP, 50, rng)
    scores[50:80] = rng.dirichlet(np.ones(10), 30)
    seen = []
    holder = ten._holder
    values = holder.decrypt(
        ten._evaluator.top_k(([m] for m in ten._senders[0].encrypt(scores)), lambda *a: seen.append(a)), 102
    )
    results = [read_result(row, ten.plan, 0.0) for row in values]
    for row, result in zip(scores, results, strict=True):
        assert_true(result, row)
        order = np.sort(row)[::-1]
        assert result.decided or order[4] - order[5] < GAP
    assert sum(result.ordered for result in results[50:80]) >= 25
    assert not any(result.classes for result in results[80:])
    planned = np.hypot(ten.plan.noise, FLOOD)
    assert 0.6 * planned < values[80:].std() < 1.3 * planned
    in_the_clear = simulate(ten.plan, scores, None)
    outside = values[50:80][np.abs(in_the_clear[50:80]) < 1e-3]
    assert 0.85 * FLOOD < outside.std() < 1.5 * FLOOD  # the evaluator's noise is on every class
    assert np.abs(values - in_the_clear).max() < 8 * planned
    assert seen == [(1, 2), (2, 2)]


def test_the_defense_releases_what_the_clear_path_says(ten, monkeypatch):
    monkeypatch.setattr(defense_module, "_session", lambda made: with_bound(ten, made.bound))
    defense, scores = EncryptedTopK(5), softmax_rows(60, 10).astype(np.float32)
    scores[-2], scores[-1] = 0.1, np.eye(10)[3]
    kept = scores.copy()
    release = defense.release(scores)
    assert release.dtype == np.float32
    assert release.shape == scores.shape
    assert (scores == kept).all()
    assert release.sum(axis=1) == pytest.approx(1, abs=1e-6)
    ordered = np.sort(np.log(scores[:-2]), axis=1)[:, ::-1]
    clear = np.flatnonzero((-np.diff(ordered, axis=1)[:, :5] > 16 * GAP).all(axis=1))
    assert len(clear) > 40
    assert (release[clear] == defense.release_in_the_clear(scores)[clear]).all()
    assert (release[-2] == np.float32(0.1)).all()
    assert release[-1, 3] == release[-1].max()
    assert len(set(np.delete(release[-1], 3))) == 1  # nine classes at the floor: one tie, nothing claimed about it
    assert (defense.estimate_scores(release) == release).all()


def with_bound(session: Session, bound: float) -> Session:
    """The same keys for scores with another bound: only what senders divide by differs."""
    other = Session.__new__(Session)
    other.plan = dataclasses.replace(session.plan, bound=bound)
    other._holder, other._evaluator = session._holder, session._evaluator
    sender = Sender.__new__(Sender)
    vars(sender).update(vars(session._senders[0]) | {"plan": other.plan})
    other._senders = [sender]
    return other


def test_encrypted_top_k_of_one_vector():
    seen = []
    result = encrypted_top_k([0.1, 0.7, 0.2], k=1, gap=1 / 16, progress=lambda *step: seen.append(step))
    assert result.classes == (1,)
    assert result.ranks == (1,)
    assert result.decided
    assert result.seconds > 0
    assert seen == [(1, 2), (2, 2)]


# --- as a defense ----------------------------------------------------------------------------------------------------


def test_released_values_carry_the_groups_and_nothing_else():
    defense = EncryptedTopK(2)
    a, b = defense.release_in_the_clear(np.array([[0.5, 0.3, 0.15, 0.05], [0.9, 0.06, 0.01, 0.03]]))
    assert (a == b).all()
    assert a[0] > a[1] > a[2] == a[3]
    assert a.sum() == pytest.approx(1)
    tied = defense_module.released_values(((2,), (0, 1)), 4)
    assert tied[2] > tied[0] == tied[1] > tied[3]
    assert tied.sum() == pytest.approx(1)


def test_rows_of_zeros_and_empty_batches():
    assert EncryptedTopK().release(np.empty((0, 4))).shape == (0, 4)
    assert (EncryptedTopK(bound=8.0).logits(np.zeros((1, 3))) == 0).all()
    assert EncryptedTopK(bound=8.0).logits(np.array([[1.0, 0.0]])).tolist() == [[0.0, -8.0]]


def test_too_many_rows_are_refused_before_anything_is_encrypted():
    with pytest.raises(privee.PriveeError, match=r"top-1 of 500,000 rows would take about .* the limit is 60 seconds"):
        EncryptedTopK(1, gap=1 / 16, time_limit=60.0).release(np.full((500_000, 3), 1 / 3))


def test_protect_writes_a_release_of_one_row(tmp_path):
    (tmp_path / "scores.csv").write_text("a,b,c\n0.1,0.7,0.2\n")
    out = tmp_path / "out.csv"
    arguments = ["protect", str(tmp_path / "scores.csv"), "--defense", "he-top-k:k=1,gap=0.0625", "--out", str(out)]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    header, row = out.read_text().split()
    a, b, c = map(float, row.split(","))
    assert header.replace('"', "") == "a,b,c"
    assert b > a == c
    assert a + b + c == pytest.approx(1)


def test_without_tenseal_there_is_one_clear_line(monkeypatch):
    for module in ("tenseal", "tenseal.sealapi"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(privee.PriveeError, match=r"pip install 'privee\[baselines\]'"):
        seal()


def test_importing_privee_loads_no_encryption():
    code = "import privee, sys; privee.defense('he-top-k').guarantee(10); print('tenseal' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    assert shown.stdout.strip() == "False"


def test_a_release_shows_progress_and_its_parameters():
    from privee.progress import watched

    seen = []
    defense = privee.defense("he-top-k:k=1,gap=0.0625")
    with watched(lambda done, of: seen.append((done, of))):
        defense.release([[0.7, 0.2, 0.1]])
    assert seen[-1][0] == seen[-1][1] > 1
    before = len(seen)
    defense.release([[0.7, 0.2, 0.1]])
    assert len(seen) == before
    assert "128" in defense.parameters(3)

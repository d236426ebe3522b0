"""Audits: numbers over seeds, resumable, the same however they are run, on anybody's model."""

import csv
import dataclasses
import json
import math
import sys

import numpy as np
import pytest
import torch
from pyarrow import parquet
from scipy.special import softmax

from privee.audit import (
    Grid,
    audit,
    run_grid,
    save_audit,
    subject_from_arrays,
    subject_from_dataset,
    subject_from_entry,
)
from privee.audit.results import Finding
from privee.audit.saving import Store
from privee.audit.task import guess_findings
from privee.defenses import known_defenses
from privee.errors import PriveeError

ACTIVE, PASSIVE, CLASSES = 5, 3, 6
WEIGHTS = np.random.default_rng(1).normal(size=(ACTIVE + PASSIVE, CLASSES)) * 2


def columns(rows: int = 160, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two parties' columns with a common cause, in ranges of their own."""
    rng = np.random.default_rng(seed)
    cause = rng.random((rows, 2))
    made = cause @ rng.random((2, ACTIVE + PASSIVE)) + 0.3 * rng.random((rows, ACTIVE + PASSIVE))
    return made[:, :ACTIVE] * 50 - 3, made[:, ACTIVE:] * 7


def numpy_logits(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return np.hstack([(active + 3) / 50, passive / 7]) @ WEIGHTS


def numpy_model(active: np.ndarray, passive: np.ndarray) -> np.ndarray:
    return softmax(numpy_logits(active, passive), axis=1)


def torch_model(active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
    both = torch.cat([(active + 3) / 50, passive / 7], dim=1)
    return torch.softmax(torch.tanh(both @ torch.from_numpy(WEIGHTS)) * 3, dim=1)


QUICK = {"attacks": ["equation-solving", "learned-inversion:simulations=1"], "seeds": 2, "records": 40, "jobs": 1}


def without_times(findings) -> list[Finding]:
    return [dataclasses.replace(finding, seconds=0.0) for finding in findings]


def test_a_numpy_model_with_columns_in_any_range():
    found = audit(numpy_model, *columns(), defenses=["none", "ranking-only"], **QUICK)
    card = found.card("none")
    assert card.headline.attack == "equation-solving"
    assert card.headline.error.mean < 1e-6
    assert (card.grade, found.subjects[0].model) == ("open", "logistic")
    assert found.card("ranking-only").headline.error.mean > 1000 * card.headline.error.mean
    assert found.card("ranking-only").attainable_protection == 1.0


def test_gradients_are_used_where_there_are_any_and_the_reason_is_given_where_not():
    settings = QUICK | {"attacks": ["gradient-inversion:iterations=100", "equation-solving"]}
    smooth = audit(torch_model, *columns(), defenses=["none"], **settings).card("none")
    assert smooth.adaptive.attack == "gradient-inversion:iterations=100"
    assert smooth.skipped["equation-solving (naive)"] == "needs a logistic model"
    opaque = audit(numpy_model, *columns(), defenses=["none"], **settings).card("none")
    assert opaque.skipped["gradient-inversion:iterations=100 (adaptive)"] == "the model is not differentiable"
    assert opaque.adaptive.attack == "equation-solving"


def test_a_torch_module_and_logits_do_as_well():
    layer = torch.nn.Linear(ACTIVE + PASSIVE, CLASSES)

    class Joint(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
            return self.layer(torch.cat([active / 50, passive / 7], dim=1))

    found = audit(Joint(), *columns(), outputs="logits", defenses=["none"], **QUICK)
    assert found.card("none").headline.error.mean < 1e-6
    assert layer.weight.dtype == torch.float32  # the user's own module is left alone
    assert layer.weight.requires_grad


def shape_shifter(active, passive):
    scores = numpy_model(active, passive)
    return scores if len(scores) != 40 else scores[:, :3] / scores[:, :3].sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("model", "more", "says"),
    [
        (lambda a, p: numpy_model(a, p) * np.nan, {}, "scores that are not finite"),
        (lambda a, p: numpy_logits(a, p) * np.nan, {"outputs": "logits"}, "not finite"),
        (numpy_logits, {}, "outputs='logits'"),
        (lambda a, p: numpy_model(a, p)[:, :1], {}, "(rows, classes)"),
        (lambda a, p: numpy_model(a, p)[:-1], {}, "(rows, classes)"),
        (lambda a, p: 1 / 0, {}, "could not be called: ZeroDivisionError"),
        ("words", {}, "must be a function"),
        (shape_shifter, {}, "expected 6 classes"),
        (numpy_model, {"labels": [1, 2]}, "labels must be 160 class numbers"),
        (numpy_model, {"outputs": "votes"}, "outputs must be"),
        (numpy_model, {"defenses": []}, "at least one defense"),
        (numpy_model, {"defenses": ["nonsense"]}, "no defense is called"),
        (numpy_model, {"attacks": ["nonsense"]}, "no attack is called"),
        (numpy_model, {"records": 0}, "records must be 1 or more"),
        (numpy_model, {"jobs": 0}, "jobs must be 1 or more"),
        (numpy_model, {"engine": "steam"}, "no engine is called 'steam'"),
    ],
)
def test_what_cannot_be_audited_is_named_in_one_line(model, more, says):
    with pytest.raises(PriveeError) as caught:
        audit(model, *columns(), **(QUICK | {"defenses": ["none"]} | more))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("active", "passive", "says"),
    [
        (np.ones((5, 2)), np.ones((6, 2)), "align them"),
        (np.ones((5, 2)), np.ones(5), "passive_columns must be a (rows, columns) array"),
        (np.array([["a"]] * 5), np.ones((5, 2)), "active_columns must be"),
        (np.full((5, 2), np.inf), np.ones((5, 2)), "active_columns holds values that are not finite"),
        (np.ones((3, 2)), np.ones((3, 2)), "too few"),
    ],
)
def test_bad_columns_are_named(active, passive, says):
    with pytest.raises(PriveeError, match=says.replace("(", r"\(").replace(")", r"\)")):
        subject_from_arrays(numpy_model, active, passive)


def test_entry_points(tmp_path, monkeypatch):
    (tmp_path / "own_entry.py").write_text(
        "import numpy as np\nfrom scipy.special import softmax\n"
        "def parts():\n    x = np.random.default_rng(0).random((50, 4))\n"
        "    return lambda a, p: softmax(np.hstack([a, p]), axis=1), x[:, :2], x[:, 2:]\n"
        "def wrong():\n    return 5\n"
    )
    monkeypatch.chdir(tmp_path)
    subject = subject_from_entry("own_entry:parts")
    assert (subject.name, subject.model.own_columns, subject.model.n_classes) == ("own_entry:parts", 2, 4)
    assert str(tmp_path) not in sys.path
    for entry, says in (
        ("own_entry", "module:function"),
        ("own_entry:absent", "has no function absent"),
        ("no_such_module:parts", "no module 'no_such_module'"),
        ("own_entry:wrong", "must return"),
    ):
        with pytest.raises(PriveeError, match=says):
            subject_from_entry(entry)


def square_roots(active: torch.Tensor, passive: torch.Tensor) -> torch.Tensor:
    """No number where columns are negative, which they never are in the data."""
    return torch.softmax(torch.sqrt(torch.cat([active + 3, passive], dim=1)) @ torch.from_numpy(WEIGHTS), dim=1)


def test_an_attack_that_leads_a_model_where_it_has_no_numbers_fails_alone():
    settings = QUICK | {"attacks": ["grna-paper", "learned-inversion:simulations=1"]}
    active, passive = columns()
    found = audit(square_roots, active - active.min() - 3, passive - passive.min(), defenses=["none"], **settings)
    card = found.card("none")
    assert card.adaptive.attack == "learned-inversion:simulations=1"
    assert "grna-paper (adaptive): the model gave scores that are not finite numbers" in card.failed


# Samples


def test_attacked_records_are_never_known_in_advance():
    subject = subject_from_arrays(numpy_model, *columns())
    first, again, other = (subject.sample(seed, 60, 100) for seed in (0, 0, 1))
    rows = {row.tobytes() for row in first.truth.numpy()}
    assert len(rows) == 60
    assert rows.isdisjoint(row.tobytes() for row in first.auxiliary.unknown.numpy())
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()
    assert len(subject.sample(0, 10_000, 10_000).truth) == 80  # half of the rows stay for the attacker


def test_an_attacker_with_more_or_fewer_columns_of_the_same_model():
    subject = subject_from_arrays(numpy_model, *columns())
    wider = subject.at_fraction(0.75)
    assert (wider.model.own_columns, wider.model.unknown_columns) == (6, 2)
    np.testing.assert_allclose(wider.sample(0, 9, 9).scores, subject.sample(0, 9, 9).scores, atol=1e-12)
    grid = Grid(defenses=("none",), attacks=("equation-solving",), records=30, seeds=(0,))
    found = run_grid([subject.at_fraction(f) for f in (0.4, 0.75)], grid, jobs=1)
    assert [card.headline.error.mean < 1e-6 for card in found.cards] == [True, True]
    for fraction in (0.0, 1.0, 2.0):
        with pytest.raises(PriveeError, match="adversary fraction"):
            subject.at_fraction(fraction)


def test_guesses_of_constant_columns_are_exact_and_nothing_breaks():
    active, passive = columns()
    found = audit(numpy_model, active, np.ones_like(passive), defenses=["none"], **QUICK)
    assert found.card("none").guess.error.mean < 1e-12
    json.dumps(found.as_dict(), allow_nan=False)


# Running


def small(folder=None, **more):
    subject = subject_from_arrays(numpy_model, *columns())
    grid = Grid(
        defenses=("none", "privee-u:rho=0.1", "ranking-only"),
        attacks=("equation-solving", "learned-inversion:simulations=1"),
        records=40,
        seeds=(0, 1),
    )
    return run_grid([subject], grid, folder=folder, **more)


def test_an_interrupted_grid_goes_on_where_it_stopped(tmp_path):
    whole = small(jobs=1)
    seen = []

    def stop_at_seven(done, total):
        seen.append(done)
        if done == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        small(tmp_path, jobs=1, progress=stop_at_seven)
    assert seen == list(range(8))
    with (tmp_path / "findings.jsonl").open("a") as file:
        file.write('{"key": "torn in the mid')
    resumed = []
    again = small(tmp_path, jobs=1, progress=lambda done, total: resumed.append((done, total)))
    assert resumed[0] == (7, 24)
    assert len(resumed) == 24 - 7 + 1
    assert without_times(again.findings) == without_times(whole.findings)
    assert again.cards == whole.cards
    assert len((tmp_path / "findings.jsonl").read_text().splitlines()) == 24


def test_another_model_is_not_taken_for_the_one_that_was_run(tmp_path):
    grid = Grid(defenses=("none",), attacks=("equation-solving",), records=20, seeds=(0,))
    first = subject_from_arrays(numpy_model, *columns())
    other = subject_from_arrays(lambda a, p: numpy_model(a, p * 0.9), *columns())
    run_grid([first], grid, folder=tmp_path, jobs=1)
    counts = []
    run_grid([other], grid, folder=tmp_path, jobs=1, progress=lambda done, total: counts.append(done))
    assert counts[0] == 0


def test_a_damaged_store_is_named(tmp_path):
    path = tmp_path / "findings.jsonl"
    path.write_text('{"no": "key"}\n')
    with pytest.raises(PriveeError, match="line 1, is damaged"):
        Store(path)


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_the_same_findings_however_they_are_run(engine):
    if engine == "ray":
        pytest.importorskip("ray")
    alone, together = small(jobs=1), small(jobs=2, engine=engine)
    assert without_times(together.findings) == without_times(alone.findings)


def test_one_tidy_table_as_csv_and_parquet_and_everything_as_json(tmp_path):
    found = small(jobs=1)
    files = save_audit(found, tmp_path)
    with files["csv"].open(newline="") as file:
        lines = list(csv.DictReader(file))
    table = parquet.read_table(files["parquet"]).to_pylist()
    assert len(lines) == len(table) == len(found.findings) == 24 + 2 * 3
    for line, row, one in zip(lines, table, found.findings, strict=True):
        assert line["attack"] == row["attack"] == one.attack
        assert float(line["feature_mse"]) == row["feature_mse"] == one.feature_mse
        assert row["adversary_fraction"] == 5 / 8
    saved = json.loads(files["json"].read_text())
    assert saved["cards"][0]["headline"]["error"]["mean"] == found.cards[0].headline.error.mean
    assert [len(f["column_mse"]) for f in saved["findings"]] == [PASSIVE] * 30


def test_column_errors_average_to_the_error():
    for one in small(jobs=1).findings:
        assert math.isclose(np.mean(one.column_mse), one.feature_mse, rel_tol=1e-9)


# What a saved run, a dataset and a picture add


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    run = tmp_path_factory.mktemp("audit") / "digits"
    return subject_from_dataset("digits", "logistic", run, fraction=56 / 64, how="random", seed=1)


def test_pictures_put_every_pixel_where_it_belongs(digits):
    sample = digits.sample(0, 30, 50)
    picture = digits.info(sample).picture
    (truth,) = [g for g in guess_findings("s", sample, 0, keep_shown=True) if g.attack == "mean guess"]
    assert picture.shape == (1, 8, 8)
    image = np.array(picture.truth[0])
    np.testing.assert_allclose(image[list(picture.unknown)], sample.truth[0], atol=1e-4)
    known = np.setdiff1d(np.arange(64), picture.unknown)
    np.testing.assert_allclose(image[known], sample.own[0], atol=1e-4)
    assert np.array(truth.shown).shape == (6, 8)


@pytest.mark.parametrize("spec", sorted(cls.example or n for n, cls in known_defenses().items() if not cls.slow))
def test_knowing_the_defense_never_hurts(digits, spec):
    """Best adaptive against best naive attack, five seeds: the mean difference is no more than two standard errors.

    With no true difference a one-sided test at two standard errors and 4 degrees of freedom errs in 6 % of cases; all
    defenses but `none` show a large true difference, so failures by chance are rare, and seeds are fixed.
    """
    attacks = ("equation-solving", "learned-inversion:simulations=1", "prior-informed:iterations=100")
    grid = Grid(defenses=(spec,), attacks=attacks, records=80, auxiliary_rows=250, seeds=tuple(range(5)))
    found = run_grid([digits], grid, jobs=1)
    best = {
        who: np.array(
            [min(f.feature_mse for f in found.findings if (f.attacker, f.seed) == (who, seed)) for seed in range(5)]
        )
        for who in ("naive", "adaptive")
    }
    worse_by = best["adaptive"] - best["naive"]
    assert worse_by.mean() <= 2 * worse_by.std(ddof=1) / math.sqrt(5) + 1e-9

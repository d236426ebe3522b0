"""Grids: resumable, and the same however they are run."""

import csv
import json
import math

import numpy as np
import pytest
from pyarrow import parquet

from privee.audit import (
    Grid,
    run_grid,
    save_audit,
    subject_from_arrays,
    subject_from_dataset,
)
from privee.audit.saving import FindingsFile
from privee.audit.task import guess_findings
from privee.defenses import known_defenses
from privee.errors import PriveeError
from tests._support.own_models import PASSIVE, columns, numpy_model, small, without_times


@pytest.fixture(scope="module")
def whole():
    """A small grid, run in one go in this process."""
    return small(jobs=1)


def test_an_interrupted_grid_goes_on_where_it_stopped(whole, tmp_path):
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
    assert resumed[0] == (7, 22)  # of 24, two by an attacker whom knowing the defense does not help
    assert len(resumed) == 22 - 7 + 1
    assert without_times(again.findings) == without_times(whole.findings)
    assert again.cards == whole.cards
    assert len((tmp_path / "findings.jsonl").read_text().splitlines()) == 22


def test_who_ignores_a_defense_that_leaves_nothing_to_undo_finds_what_others_find(whole):
    """Run once for both; run for the naive attacker alone, it is the same."""
    alone = small(jobs=1, attackers=("naive",))
    assert without_times(alone.findings) == [f for f in without_times(whole.findings) if f.attacker != "adaptive"]


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
        FindingsFile(path)


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.slow)])
def test_the_same_findings_however_they_are_run(whole, engine):
    if engine == "ray":
        pytest.importorskip("ray")
    assert without_times(small(jobs=2, engine=engine).findings) == without_times(whole.findings)


def test_one_tidy_table_as_csv_and_parquet_and_everything_as_json(whole, tmp_path):
    files = save_audit(whole, tmp_path)
    with files["csv"].open(newline="") as file:
        lines = list(csv.DictReader(file))
    table = parquet.read_table(files["parquet"]).to_pylist()
    assert len(lines) == len(table) == len(whole.findings) == 24 + 2 * 3
    for line, row, one in zip(lines, table, whole.findings, strict=True):
        assert line["attack"] == row["attack"] == one.attack
        assert float(line["feature_mse"]) == row["feature_mse"] == one.feature_mse
        assert row["adversary_fraction"] == 5 / 8
    saved = json.loads(files["json"].read_text())
    assert saved["cards"][0]["headline"]["error"]["mean"] == whole.cards[0].headline.error.mean
    assert [len(f["column_mse"]) for f in saved["findings"]] == [PASSIVE] * 30


def test_column_errors_average_to_the_error(whole):
    for one in whole.findings:
        assert math.isclose(np.mean(one.column_mse), one.feature_mse, rel_tol=1e-9)


# What a saved run, a dataset and a picture add


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    run = tmp_path_factory.mktemp("audit") / "digits"
    return subject_from_dataset("digits", "logistic", run, fraction=56 / 64, how="random", seed=1)


def test_pictures_put_every_pixel_where_it_belongs(digits):
    sample = digits.sample(0, 30, 50)
    picture = digits.info(sample, sample).picture
    (truth,) = [
        g for g in guess_findings("s", sample, sample.guesses(0), 0, keep_shown=True) if g.attack == "mean guess"
    ]
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
    alone = {"curves": False, "pictures": False, "own_columns": False}  # nothing of which is looked at here
    grid = Grid(defenses=(spec,), attacks=attacks, records=80, auxiliary_rows=250, seeds=tuple(range(5)), **alone)
    found = run_grid([digits], grid, jobs=1)
    best = {
        who: np.array(
            [min(f.feature_mse for f in found.findings if (f.attacker, f.seed) == (who, seed)) for seed in range(5)]
        )
        for who in ("naive", "adaptive")
    }
    worse_by = best["adaptive"] - best["naive"]
    assert worse_by.mean() <= 2 * worse_by.std(ddof=1) / math.sqrt(5) + 1e-9


def test_who_ignores_a_defense_is_tried_with_one_seed_where_that_is_asked_for(whole):
    """What is the same work for both is there with every seed all the same."""
    once = small(jobs=1, naive_once=True)
    tried = {(f.defense, f.seed) for f in once.findings if f.attacker == "naive"}
    assert {(defense, 0) for defense in ("none", "privee-u:rho=0.1")} <= tried
    assert ("privee-u:rho=0.1", 1) not in tried
    assert [f for f in without_times(once.findings) if f.attacker == "adaptive"] == [
        f for f in without_times(whole.findings) if f.attacker == "adaptive"
    ]
    assert [card.grade for card in once.cards] == [card.grade for card in whole.cards]

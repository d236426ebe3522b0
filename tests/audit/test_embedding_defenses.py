"""Audits of models with embedding defenses: named, attacked with their noise, and no bound is claimed."""

import pytest

from privee.audit import Grid, run_grid, save_audit, subject_from_run
from privee.audit.loading import load_audit
from privee.audit.report import render_report
from privee.data.datasets import load_dataset
from privee.vfl.embedding_defenses import embedding_defense
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.training import TrainingSettings


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    dataset = load_dataset("digits")
    data = from_dataset(dataset, partition_of(dataset, parties=2, adversary_fraction=None, how=None, seed=0))
    run, defenses = tmp_path_factory.mktemp("audited") / "run", {"passive-1": embedding_defense("mid:weight=0.02")}
    train_run(run, data, "mlp", TrainingSettings(epochs=10), embedding_defenses=defenses)
    grid = Grid(
        defenses=("none", "label-only"),
        attacks=("gradient-inversion:iterations=20", "learned-inversion"),
        attackers=("adaptive",),
        seeds=(0,),
        records=40,
        auxiliary_rows=150,
        questions=(2,),
        curves=False,
        pictures=False,
    )
    return run_grid([subject_from_run(run)], grid, jobs=1)


def test_every_attack_runs_and_none_is_left_out_for_the_noise(found):
    tried = {finding.attack for finding in found.findings if finding.guess_normalised is not None}
    assert {"gradient-inversion:iterations=20", "learned-inversion", "chosen-columns:questions=2"} <= tried


def test_the_audit_names_it_and_comes_back_from_its_file(found, tmp_path):
    (info,) = found.subjects
    assert info.embedding_defenses == {"passive-1": "mid:weight=0.02"}
    assert info.sealed == ()
    save_audit(found, tmp_path)
    assert load_audit(tmp_path).subjects[0].embedding_defenses == info.embedding_defenses


def test_the_report_says_that_nothing_is_proven(found):
    page = render_report(found)
    assert "mid:weight=0.02" in page.replace("<wbr>", "")
    assert "Nothing is proven about it" in page
    assert "what defended embeddings tell it is not in these grades" in page

"""What a release keeps, moves and costs: the columns that need no attack, against figures worked out here."""

import numpy as np
import pytest

import privee
from privee.audit import subject_from_arrays
from privee.bench.worth import Asked, varies, worth_of
from privee.scores import utility_of
from privee.scores.structure import structure_kept
from tests._support.own_models import columns, numpy_model

ACTIVE, PASSIVE = columns(200)
LABELS = numpy_model(ACTIVE, PASSIVE).argmax(axis=1)
SAMPLE = subject_from_arrays(numpy_model, ACTIVE, PASSIVE, labels=LABELS).sample(0, 100, 0)


def worth(spec, protection="", before=None):
    return worth_of(Asked(spec, protection, SAMPLE, SAMPLE.scores if before is None else before, 0))


def test_the_scores_themselves():
    found = worth("none")
    assert (found["l1_moved"], found["ranking_kept"], found["top_kept"], found["accuracy"]) == (0, 1, 1, 1)
    assert found["structure"] == {"distances": 1, "distance_order": 1, "inner_products": 1, "correlations": 1}
    assert found["epsilon"] is None
    assert found["microseconds"] > 0


def test_a_release_against_figures_made_here():
    found, scores = worth("label-only"), SAMPLE.scores
    release = privee.defense("label-only").release(scores)
    assert found["l1_moved"] == pytest.approx(np.abs(release - scores).sum(axis=1).mean())
    assert found["top_kept"] == 1
    assert found["ranking_kept"] == 0
    used = utility_of(release, SAMPLE.labels)
    assert (found["auc"], found["calibration_error"]) == (used.auc, used.calibration_error)
    assert found["structure"]["distances"] == structure_kept(scores, release).distances
    assert found["records"] == found["released_records"] == 100


def test_what_is_proven_is_the_guarantees():
    found = worth("ordered-dp:epsilon=4")
    assert (found["epsilon"], found["order_proven"], found["ranking_kept"]) == (4, True, 1)
    assert "ranking" in found["same"]
    assert worth("rounding:digits=1")["order_proven"] is False


def test_a_release_that_is_no_probability_has_a_calibration_all_the_same():
    assert worth("privee-u:rho=0.1")["calibration_error"] is not None


def test_a_protected_model_is_told_against_the_model_without_protection():
    """Its scores are released as they are; what moved them is the protection."""
    other = SAMPLE.scores[:, ::-1]
    found = worth("none", "seal:codes=8,epsilon=4", other)
    assert found["l1_moved"] == pytest.approx(np.abs(SAMPLE.scores - other).sum(axis=1).mean())
    assert found["ranking_kept"] == 0
    assert (found["epsilon"], found["order_proven"], found["microseconds"]) == (4, None, None)
    assert found["structure"]["correlations"] < 1


def test_a_defense_that_cannot_be_used_says_why():
    found = worth("privee-u+:schedule=[0.1,0.2]")
    assert set(found) == {"reason", "of"}
    assert "2 rank positions" in found["reason"]


@pytest.mark.parametrize(
    ("spec", "again"),
    [("none", False), ("rounding:digits=2", False), ("label-only", False), ("ordered-dp:epsilon=4", True)],
)
def test_asking_again_brings_something_new_only_where_draws_do(spec, again):
    assert varies(spec, SAMPLE, 0) is again

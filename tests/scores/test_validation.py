"""What counts as scores, and what the messages say when something does not."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import privee
from privee.scores import to_rows

GOOD = [[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]


def test_accepts_lists_integers_vectors_and_batches():
    assert privee.check_scores(GOOD).shape == (2, 3)
    assert privee.check_scores([1, 0]).dtype == np.float64
    assert privee.check_scores(np.array(GOOD, dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([[0.5, 0.3, 0.2], [0.1, np.nan, 0.9]], "row 1, class 1 is not a finite number"),
        ([[0.5, np.inf, 0.2]], "row 0, class 1 is not a finite number"),
        ([[0.5, -np.inf, 0.2]], "row 0, class 1 is not a finite number"),
        ([[0.5, 0.5], [1.5, -0.5]], "row 1, class 1 is negative"),
        ([[0.5, 0.5], [0.5, 0.4]], "row 1 sums to 0.9, not to 1 within 0.001"),
        ([[1.0]], "at least two classes"),
        ([[]], "at least two classes"),
        (0.5, "shape"),
        (np.zeros((2, 2, 2)), "shape"),
        ([["a", "b"]], "float32 or float64"),
        ([[True, False]], "float32 or float64"),
        ([[0.5, 0.5], [1.0]], "not an array of numbers"),
        (np.array([0.5, 0.5], dtype=np.float16), "cast to float32"),
        (np.array([0.5, 0.5], dtype=np.complex128), "float32 or float64"),
    ],
)
def test_bad_scores_get_one_line_that_names_the_place(scores, message):
    with pytest.raises(privee.ScoreError, match=message) as caught:
        privee.PriveeU(rho=0.1).release(scores)
    assert "\n" not in str(caught.value)


def test_messages_hold_no_scores():
    with pytest.raises(privee.ScoreError) as caught:
        privee.check_scores([[0.123456, -0.123456, 1.0]])
    assert "123456" not in str(caught.value)


def test_sum_check_has_a_tolerance_and_an_opt_out():
    privee.check_scores([0.5, 0.5009])
    with pytest.raises(privee.ScoreError, match="check_sum=False"):
        privee.check_scores([0.5, 0.52])
    release = privee.PriveeU(rho=0.1).release([5.0, 2.0, 0.0], check_sum=False)
    assert privee.theory.order_is_kept([5.0, 2.0, 0.0], release)
    with pytest.raises(privee.ScoreError, match="sums to more than"):
        privee.check_scores([1e300, 1e300], check_sum=False)
    with pytest.raises(privee.ScoreError, match="negative"):
        privee.check_scores([1.5, -0.5], check_sum=False)


def test_ranking_breaks_ties_by_lower_index():
    assert privee.ranking([0.25, 0.25, 0.5, 0.0, 0.0]).tolist() == [2, 0, 1, 3, 4]
    assert privee.ranking([[0.5, 0.5], [0.4, 0.6]]).tolist() == [[0, 1], [1, 0]]
    assert privee.ranking([0.0, -0.0, 1.0]).tolist() == [2, 0, 1]


@given(
    hnp.arrays(st.sampled_from([np.float32, np.float64]), (4, 7), elements=st.sampled_from([0, 0.25, 0.5, 1, 1e-30]))
)
def test_ranking_is_numpys_stable_argsort_of_the_negated_scores(scores):
    assert (privee.ranking(scores) == np.argsort(-scores, axis=1, kind="stable")).all()
    assert (privee.ranking(scores)[:, 0] == scores.argmax(axis=1)).all()


def test_odd_layouts_are_read_correctly():
    scores = np.array(GOOD)
    for odd in (np.asfortranarray(scores), scores.astype(">f8"), np.repeat(scores, 2, axis=0)[::2]):
        rows, _ = to_rows(odd)
        assert rows.flags.c_contiguous
        assert rows.dtype.isnative
        assert (privee.NoDefense().release(odd) == scores).all()


def test_torch_tensors_come_back_as_torch_tensors():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.float64):
        scores = torch.softmax(torch.randn(5, 4, dtype=dtype), dim=1).requires_grad_()
        release = privee.PriveeU(rho=0.1).release(scores)
        assert isinstance(release, torch.Tensor)
        assert release.dtype == dtype
        assert release.shape == scores.shape
        assert not release.requires_grad
        assert (release.argsort(dim=1) == scores.argsort(dim=1)).all()
        assert isinstance(privee.PriveeU(rho=0.1).estimate_scores(release), torch.Tensor)
        assert privee.PriveeU(rho=0.1).release(scores[0]).shape == (4,)
    with pytest.raises(privee.ScoreError, match="bfloat16"):
        privee.NoDefense().release(torch.tensor([0.5, 0.5], dtype=torch.bfloat16))


def test_import_is_light():
    """Neither torch nor the command line's packages are loaded by the core."""
    code = (
        "import privee, sys; print([m for m in ('torch', 'typer', 'pyarrow', 'sklearn', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "[]"

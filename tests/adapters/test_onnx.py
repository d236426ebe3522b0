"""ONNX: sessions of the real runtime, with tensors and with ZipMaps, give releases and nothing raw beside them."""

import numpy as np
import pytest

import privee
from privee.errors import PriveeError, SettingError
from tests._support.foreign_models import onnx_session

pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: privee[onnx]")
pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from privee.adapters.onnx import protect_session

X, Y = load_iris(return_X_y=True)
X = X.astype(np.float32)
SPEC = "ordered-dp:epsilon=4"


@pytest.fixture(scope="module")
def model() -> LogisticRegression:
    return LogisticRegression(max_iter=500).fit(X, Y)


@pytest.fixture(scope="module")
def session(model):
    return onnx_session(model, X[:1], zipmap=False)


def test_run_gives_releases_and_the_same_classes(session, monkeypatch):
    labels, scores = session.run(None, {"X": X})
    monkeypatch.setattr("privee.defenses.base.secure", lambda: privee.seeded(3))
    protected = protect_session(session, SPEC)
    found, release = protected.run(None, {"X": X})
    assert np.array_equal(found, labels)
    assert release.dtype == scores.dtype == np.float32
    assert np.array_equal(release, privee.defense(SPEC).release(scores, draws=privee.seeded(3)))
    assert np.array_equal(protected.run(["probabilities"], {"X": X})[0], release)
    assert [one.name for one in protected.get_inputs()] == ["X"]
    assert [one.name for one in protected.get_outputs()] == ["label", "probabilities"]


def test_draws_are_fresh(session):
    protected = protect_session(session, "privee-u:rho=0.1")
    first, second = (protected.run(["probabilities"], {"X": X})[0] for _ in range(2))
    assert not np.isclose(first, second).all(axis=1).any()


def test_a_zip_map_stays_one(model):
    session = onnx_session(model, X[:1])
    scores = session.run(["output_probability"], {"X": X})[0]
    (release,) = protect_session(session, SPEC).run(["output_probability"], {"X": X})
    assert [list(row) for row in release] == [list(row) for row in scores]
    made, given = (np.array([list(row.values()) for row in rows]) for rows in (release, scores))
    assert np.array_equal(privee.ranking(made), privee.ranking(given.astype(np.float32)))
    assert not np.isclose(made, given).all(axis=1).any()
    assert protect_session(session, SPEC).run(None, {"X": X[:0]})[1] == []


def by_hand(**outputs):
    """A model whose outputs are all its input, by names and under other types."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    nodes = [helper.make_node(operator, ["X"], [name]) for name, operator in outputs.items()]
    tensors = [helper.make_tensor_value_info(name, kind, [None, None]) for name in outputs]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("X", kind, [None, None])], tensors)
    opset = helper.make_opsetid("", 17)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


def test_logits_and_single_probabilities():
    logits = np.random.default_rng(0).normal(size=(20, 4)).astype(np.float32)
    (release,) = protect_session(by_hand(out="Identity"), SPEC, outputs="logits").run(None, {"X": logits})
    assert np.array_equal(privee.ranking(release), privee.ranking(np.exp(logits)))
    assert np.allclose(release.sum(axis=1), 1, atol=1e-5)
    (two,) = protect_session(by_hand(out="Sigmoid"), SPEC).run(None, {"X": logits[:, :1]})
    assert two.shape == (20, 2)
    assert np.array_equal(two[:, 1] > two[:, 0], logits[:, 0] > 0)
    (two,) = protect_session(by_hand(out="Identity"), SPEC, outputs="logits").run(None, {"X": logits[:, :1]})
    assert two.shape == (20, 2)
    assert np.array_equal(two[:, 1] > two[:, 0], logits[:, 0] > 0)


def test_a_zip_map_of_logits(model):
    """Numbers in a mapping for each row may be logits too, as other converters write them."""
    session = onnx_session(model, X[:1])
    given = [list(row.values()) for row in session.run(["output_probability"], {"X": X})[0]]
    (release,) = protect_session(session, "none", outputs="logits").run(["output_probability"], {"X": X})
    made = np.array([list(row.values()) for row in release])
    assert np.allclose(made, np.exp(given) / np.exp(given).sum(axis=1, keepdims=True), atol=1e-6)


def test_other_outputs_are_kept_back():
    both = by_hand(scores="Softmax", hidden="Identity")
    with pytest.raises(SettingError, match="which output holds the scores"):
        protect_session(both, SPEC)
    protected = protect_session(both, SPEC, scores="scores")
    assert len(protected.run(None, {"X": np.ones((2, 3), dtype=np.float32)})) == 1
    with pytest.raises(SettingError, match="hidden is not handed out"):
        protected.run(["hidden"], {"X": np.ones((2, 3), dtype=np.float32)})
    assert not [name for name in ("run_with_iobinding", "run_async", "io_binding") if hasattr(protected, name)]


def test_what_cannot_be_protected_is_named_in_one_line(session, tmp_path):
    (tmp_path / "x.onnx").write_bytes(b"nonsense")
    for make, says in (
        (lambda: protect_session(session, SPEC, scores="label"), "no scores called 'label'"),
        (lambda: protect_session(session, SPEC, outputs="votes"), "outputs must be"),
        (lambda: protect_session(tmp_path / "x.onnx", SPEC), "no ONNX model that onnxruntime opens"),
        (lambda: protect_session(tmp_path / "absent.onnx", SPEC), "absent.onnx: no such file"),
        (lambda: protect_session(LogisticRegression(), SPEC), "InferenceSession, got LogisticRegression"),
    ):
        with pytest.raises(PriveeError, match=says) as caught:
            make()
        assert "\n" not in str(caught.value)

"""Every kind of model in front of which the gateway can be, read from its safe format: the scores it gave before."""

import pickle
import sys

import joblib
import numpy as np
import pytest

from privee.errors import PriveeError, ScoreError, SettingError
from privee.gateway.scorers.base import open_scorer
from privee.gateway.scorers.reading import scores_in
from privee.gateway.scorers.rows import FileRows, Rows
from privee.gateway.scorers.settings import ScorerSettings
from tests._support import scorer_models as models

SECONDS = 2.0


def opened(given, **more):
    return open_scorer(ScorerSettings(given=str(given), **more), SECONDS)


def scored(scorer, x, classes, names=None, **more):
    rows = Rows(tuple(names or scorer.names or map(str, range(x.shape[1]))), x)
    return scores_in(scorer.outputs(rows), len(x), classes, logits=more.get("logits", False))


def test_skops(people, fitted, skops_file):
    scorer = opened(skops_file)
    assert (scorer.classes, scorer.features, scorer.names) == (("0", "1", "2"), 4, None)
    assert np.array_equal(scored(scorer, people.x, 3), fitted.predict_proba(people.x))


def test_skops_with_a_pipeline_of_texts(people, tmp_path):
    """The pipeline that encodes strings is part of the model; columns are found by name, in whatever order they lie."""
    import pandas as pd

    frame = pd.DataFrame({"work": ["bank", "shop", None] * 20, "age": people.x[:, 0]})
    model = models.text_pipeline(frame, people.y, tmp_path / "m.skops")
    frame.insert(0, "person", people.ids)
    frame[["age", "person", "work"]].to_csv(tmp_path / "t.csv", index=False)
    scorer = opened(tmp_path / "m.skops")
    assert scorer.names == ("work", "age")
    table = FileRows(tmp_path / "t.csv", "person", scorer.names)
    rows, unknown = table.find(["p005", "p000", "p002"])
    assert (unknown, rows.values.dtype) == ((), object)
    expected = model.predict_proba(frame.loc[[5, 0, 2], ["work", "age"]])
    assert np.allclose(scores_in(scorer.outputs(rows), 3, 3, logits=False), expected, atol=1e-12)


@pytest.mark.parametrize("filled", [False, True])
def test_codes_that_were_text_and_are_numbers_here_are_named(people, tmp_path, filled):
    """A CSV file has no types, so `02` is 2 there; Parquet knows better.

    Behind something that fills gaps, an encoder takes such a number for a code it does not know, and says nothing.
    """
    import pandas as pd

    frame = pd.DataFrame({"work": ["01", "02", "10"] * 20, "age": people.x[:, 0]})
    model = models.text_pipeline(frame, people.y, tmp_path / "m.skops", filled=filled)
    table = frame.assign(person=people.ids)
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    scorer = opened(tmp_path / "m.skops")
    found = FileRows(tmp_path / "t.parquet", "person", scorer.names).find(["p001"]).rows
    assert np.allclose(scorer.outputs(found), model.predict_proba(frame[1:2]))
    with pytest.raises(
        PriveeError, match=r"fitted on text in work, and the rows hold numbers there: .* Parquet"
    ) as caught:
        scorer.outputs(FileRows(tmp_path / "t.csv", "person", scorer.names).sample())
    assert "\n" not in str(caught.value)
    if filled:  # a gap is no number
        assert scorer.outputs(Rows(("work", "age"), np.array([[np.nan, 1.0]]))).shape == (1, 3)


def test_skops_with_a_pipeline_that_fills_gaps(people, tmp_path):
    """What fills gaps remembers a type of numbers, which skops alone would not trust."""
    import skops.io
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    x = np.where(people.x > 1, np.nan, people.x)
    model = make_pipeline(SimpleImputer(), LogisticRegression(max_iter=500)).fit(x, people.y)
    skops.io.dump(model, tmp_path / "m.skops")
    assert np.array_equal(scored(opened(tmp_path / "m.skops"), x, 3), model.predict_proba(x))


def test_a_model_is_tried_on_a_row_without_gaps(tmp_path):
    (tmp_path / "t.csv").write_text("id,a,b\n1,,2\n2,3,4\n")
    assert FileRows(tmp_path / "t.csv", "id", ()).sample().values.tolist() == [[3.0, 4.0]]
    (tmp_path / "t.csv").write_text("id,a,b\n1,,x\n2,3,\n3,4,y\n")
    assert FileRows(tmp_path / "t.csv", "id", ()).sample().values.tolist() == [[4.0, "y"]]
    (tmp_path / "t.csv").write_text("id,a,b\n1,,2\n2,3,\n")
    assert np.array_equal(FileRows(tmp_path / "t.csv", "id", ()).sample().values, [[np.nan, 2.0]], equal_nan=True)


def test_skops_trusts_nobody(tmp_path):
    models.untrusted(tmp_path / "m.skops")
    with pytest.raises(SettingError, match=r"holds .*, which skops does not trust, so it is not read") as caught:
        opened(tmp_path / "m.skops")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("ending", ["json", "ubj"])
@pytest.mark.parametrize("classes", [2, 3])
def test_xgboost(people, tmp_path, ending, classes):
    model = models.xgboost(people.x, people.y % classes, tmp_path / f"m.{ending}")
    scorer = opened(tmp_path / f"m.{ending}")
    assert (len(scorer.classes), scorer.features) == (classes, 4)
    assert np.allclose(scored(scorer, people.x, classes), model.predict_proba(people.x), atol=1e-6)


def test_an_xgboost_classifier_that_stopped_early(people, tmp_path):
    """It predicts by its best round; a gateway that took all of them would serve another model."""
    from xgboost import XGBClassifier

    noise = np.random.default_rng(0).permutation(people.y)
    model = XGBClassifier(n_estimators=40, early_stopping_rounds=3, n_jobs=1)
    model.fit(people.x[:40], noise[:40], eval_set=[(people.x[40:], noise[40:])], verbose=False)
    model.save_model(tmp_path / "m.json")
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    found = scored(opened(tmp_path / "m.json"), people.x, 3)
    assert np.allclose(found, model.predict_proba(people.x), atol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_lightgbm(people, tmp_path, classes):
    model = models.lightgbm(people.x, people.y % classes, tmp_path / "m.txt")
    scorer = opened(tmp_path / "m.txt")
    assert (len(scorer.classes), scorer.features, scorer.names) == (classes, 4, None)
    assert np.array_equal(scored(scorer, people.x, classes), model.predict_proba(people.x))


@pytest.mark.parametrize("zipmap", [False, True])
def test_onnx(people, fitted, tmp_path, zipmap):
    models.onnx(fitted, tmp_path / "m.onnx", zipmap=zipmap)
    scorer = opened(tmp_path / "m.onnx")
    assert np.allclose(scored(scorer, people.x, 3), fitted.predict_proba(people.x), atol=1e-5)
    assert (scorer.features, scorer.classes) == (4, ("0", "1", "2"))


def test_onnx_with_a_tensor_for_each_column(people, tmp_path):
    model = models.onnx_by_columns(people.x, people.y, tmp_path / "m.onnx")
    scorer = opened(tmp_path / "m.onnx")
    assert scorer.names == ("age", "income", "debt", "years")
    assert np.allclose(scored(scorer, people.x, 3), model.predict_proba(people.x), atol=1e-5)


def test_a_gap_in_a_column_of_whole_numbers_is_not_scored(tmp_path):
    """As the smallest whole number there is, it would get scores that mean nothing."""
    models.onnx_of_whole_numbers(tmp_path / "m.onnx")
    scorer = opened(tmp_path / "m.onnx")
    assert scored(scorer, np.array([[0.0, 1.0]]), 2).tolist() == [[0.0, 1.0]]
    with pytest.raises(PriveeError, match=r"as tensor\(int64\): it has gaps"):
        scored(scorer, np.array([[np.nan, 1.0]]), 2)


def test_an_onnx_file_reads_no_file_beside_it(fitted, tmp_path):
    models.onnx_with_weights_outside(tmp_path / "m.onnx")
    with pytest.raises(SettingError, match="is no ONNX model that can be run"):
        opened(tmp_path / "m.onnx")


def test_a_function(people, fitted, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(models.FUNCTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    scorer = opened("mine:scores")
    found = scored(scorer, people.x, 2, names=("age", "income", "debt", "years"))
    assert np.allclose(found[:, 1], 1 / (1 + np.exp(-people.x[:, 0])), atol=1e-12)
    assert scorer.classes == ("no", "yes")
    for given, words in (("mine:nothing", "has no function"), ("nowhere_at_all:f", "cannot import")):
        with pytest.raises(SettingError, match=words):
            opened(given)


def test_a_version_changes_with_the_file(people, tmp_path):
    models.lightgbm(people.x, people.y, tmp_path / "a.txt")
    first = opened(tmp_path / "a.txt").version
    assert opened(tmp_path / "a.txt").version == first
    models.lightgbm(people.x, 2 - people.y, tmp_path / "a.txt")
    assert opened(tmp_path / "a.txt").version != first


def test_no_pickle_is_ever_read(fitted, tmp_path):
    """Whatever it is called: none of these runs the code that is in them."""
    ran = tmp_path / "ran"

    class Evil:
        def __reduce__(self):
            return (ran.touch, ())

    for name in ("m.pkl", "m.pickle", "m.onnx", "m.skops", "m.json", "m.ubj", "m.txt"):
        (tmp_path / name).write_bytes(pickle.dumps(Evil()))
    joblib.dump(Evil(), tmp_path / "m.joblib")
    for file in sorted(tmp_path.glob("m.*")):
        with pytest.raises(SettingError, match="a pickle can run any code when it is read, so none is") as caught:
            opened(file)
        assert "\n" not in str(caught.value)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["m.onnx", "m.skops", "m.json", "m.ubj", "m.txt"])
def test_what_is_no_model_is_one_clear_line(tmp_path, name):
    for content in (b"", b"{}", b"tree\nnonsense", b"PK\x03\x04nothing", bytes(range(256))):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(SettingError) as caught:
            opened(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(SettingError, match="no such file"):
        opened(tmp_path / "absent.onnx")
    with pytest.raises(SettingError, match="give a file that ends in"):
        opened(tmp_path / "model.h5")


@pytest.mark.parametrize("labels", [[0, 1, 1], [[0], [1], [1]], [False, True, True]])
def test_classes_are_no_scores(labels):
    """As `predict` gives them where `predict_proba` was meant; taken for probabilities, they would be released."""
    with pytest.raises(ScoreError, match="one whole number for each row, which is a class"):
        scores_in(np.array(labels), 3, 2, logits=False)
    assert scores_in(np.array(labels, dtype=float), 3, 2, logits=False).tolist() == [[1, 0], [0, 1], [0, 1]]


def test_a_regression_gives_no_scores(people, tmp_path):
    models.lightgbm_regression(people.x, people.y, tmp_path / "m.txt")
    with pytest.raises(SettingError, match="gives no scores of classes"):
        opened(tmp_path / "m.txt")
    models.xgboost_regression(people.x, people.y, tmp_path / "m.json")
    with pytest.raises(SettingError, match="gives no scores of classes"):
        opened(tmp_path / "m.json")


def test_rows_tell_each_other_apart():
    numbers = Rows(("a", "b"), np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0], [np.nan, 1.0]]))
    texts = Rows(("a", "b"), np.array([["x", 1.0], [None, 1.0], ["x", np.nan]], dtype=object))
    for rows, different in ((numbers, 3), (texts, 3)):
        assert rows.digests.shape == (len(rows), 32)
        assert len({one.tobytes() for one in rows.digests}) == different
    renamed = Rows(("b", "a"), numbers.values)
    assert not (renamed.digests == numbers.digests).all(axis=1).any()
    assert texts.table().schema.types == ["string", "double"]
    assert numbers.table()["a"].null_count == 1
    with pytest.raises(PriveeError, match="the rows hold text"):
        texts.numbers  # noqa: B018

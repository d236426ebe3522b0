"""XGBoost and LightGBM: native boosters and their classifiers give releases."""

import numpy as np
import pytest

import privee
from privee.adapters.boosters import protect_booster
from privee.errors import SettingError

pytest.importorskip("sklearn", reason="scikit-learn is not installed")
from sklearn.datasets import load_iris

from privee.adapters.sklearn import ProtectedClassifier

X, Y = load_iris(return_X_y=True)
SPEC = "ordered-dp:epsilon=4"


def xgboost_model(classes: int, **more):
    xgboost = pytest.importorskip("xgboost", reason="XGBoost is not installed: privee[xgboost]")
    kind = {"objective": "multi:softprob", "num_class": 3} if classes == 3 else {"objective": "binary:logistic"}
    labels = Y if classes == 3 else Y == 1
    return xgboost.train(kind | {"nthread": 1} | more, xgboost.DMatrix(X, labels), 5), xgboost.DMatrix(X)


def lightgbm_model(classes: int, **more):
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: privee[lightgbm]")
    kind = {"objective": "multiclass", "num_class": 3} if classes == 3 else {"objective": "binary"}
    labels = Y if classes == 3 else Y == 1
    return lightgbm.train(kind | {"verbose": -1, "num_threads": 1} | more, lightgbm.Dataset(X, labels), 5), X


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [xgboost_model, lightgbm_model])
def test_predictions_are_releases_of_the_boosters_scores(make, classes, monkeypatch):
    booster, rows = make(classes)
    raw = booster.predict(rows)
    scores = raw if classes == 3 else np.stack([1 - raw, raw], axis=1)
    monkeypatch.setattr("privee.defenses.base.secure", lambda: privee.seeded(3))
    release = protect_booster(booster, SPEC).predict(X)
    assert np.array_equal(release, privee.defense(SPEC).release(scores, draws=privee.seeded(3)))
    assert release.dtype == raw.dtype


def test_a_dmatrix_is_taken_and_draws_are_fresh():
    booster, matrix = xgboost_model(3)
    protected = protect_booster(booster, "privee-u:rho=0.1")
    assert not np.isclose(protected.predict(matrix), protected.predict(matrix)).all(axis=1).any()
    assert not [name for name in ("inplace_predict", "get_dump", "booster") if hasattr(protected, name)]


@pytest.mark.parametrize(("library", "name"), [("xgboost", "XGBClassifier"), ("lightgbm", "LGBMClassifier")])
def test_their_classifiers_go_into_the_scikit_learn_adapter(library, name):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    quiet = {"verbose": -1} if library == "lightgbm" else {}
    bare = getattr(module, name)(n_estimators=5, n_jobs=1, **quiet)
    protected = ProtectedClassifier(bare, SPEC).fit(X, Y)
    assert np.array_equal(protected.predict(X), bare.fit(X, Y).predict(X))
    assert np.array_equal(privee.ranking(protected.predict_proba(X)), privee.ranking(bare.predict_proba(X)))


@pytest.mark.parametrize(
    "objective", ["multi:softmax", "binary:logitraw", "binary:hinge", "reg:squarederror", "rank:pairwise"]
)
def test_an_xgboost_model_without_scores_is_refused_at_once(objective):
    """Not when the first row is outside of 0 to 1: classes and amounts are often inside."""
    booster, _ = xgboost_model(3 if "multi" in objective else 2, objective=objective)
    with pytest.raises(SettingError, match=f"{objective} gives no scores of classes: train it with binary:logistic"):
        protect_booster(booster, SPEC)


@pytest.mark.parametrize("objective", ["regression", "multiclassova", "poisson"])
def test_a_lightgbm_model_without_scores_is_refused_at_once(objective):
    booster, _ = lightgbm_model(3 if "multi" in objective else 2, objective=objective)
    with pytest.raises(SettingError, match=f"{objective} gives no scores of classes: train it with binary"):
        protect_booster(booster, SPEC)


def test_a_model_of_an_objective_of_ones_own_is_refused():
    lightgbm = pytest.importorskip("lightgbm", reason="LightGBM is not installed: privee[lightgbm]")

    def objective(margins, data):
        return margins - data.get_label(), np.ones_like(margins)

    own = lightgbm.train({"objective": objective, "verbose": -1, "num_threads": 1}, lightgbm.Dataset(X, Y == 1), 2)
    with pytest.raises(SettingError, match="gives no scores of classes"):
        protect_booster(own, SPEC)


def test_what_is_no_booster_is_refused():
    with pytest.raises(SettingError, match=r"expected an xgboost.Booster or a lightgbm.Booster"):
        protect_booster(object(), SPEC)


@pytest.mark.filterwarnings("ignore")  # XGBoost's own, about a matrix without rows
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("make", [xgboost_model, lightgbm_model])
def test_of_no_rows_there_are_no_releases_of_the_same_classes(make, classes):
    assert protect_booster(make(classes)[0], SPEC).predict(X[:0]).shape == (0, classes)

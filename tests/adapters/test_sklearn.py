"""scikit-learn: its own checks of estimators, pipelines, searches, clones and pickles, with releases for scores."""

import pickle

import numpy as np
import pytest

import privee
from privee.errors import SettingError

pytest.importorskip("sklearn", reason="scikit-learn is not installed: privee[sklearn]")
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import check_estimator

from privee.adapters.sklearn import ProtectedClassifier, protect_fitted

X, Y = load_iris(return_X_y=True)
NAMES = np.array(["iris setosa", "iris versicolor", "iris virginica"])[Y]
SPEC = "ordered-dp:epsilon=4"
SMOOTH = "privee-u:rho=0.1"
"""No two draws give the same release."""


def logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=500)


def failed(model: ProtectedClassifier) -> set[str]:
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert sum(one["status"] == "passed" for one in results) >= 45
    return {one["check_name"] for one in results if one["status"] == "failed"}


@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier(max_depth=3)], ids=["lr", "tree"])
@pytest.mark.parametrize("settings", [{}, {"repeatable": True}], ids=["fresh", "repeatable"])
def test_the_checks_of_scikit_learn_pass(estimator, settings):
    """They set `random_state` before they compare two calls; those on order and subsets run for repeatable draws."""
    assert failed(ProtectedClassifier(estimator, SPEC, **settings)) == set()


def test_releases_that_are_no_probabilities_fail_the_one_check_that_asks_for_them():
    reason = "releases of PRIVEE-U do not sum to one"
    model = ProtectedClassifier(LogisticRegression(), "privee-u:rho=0.1", random_state=0)
    check_estimator(model, expected_failed_checks={"check_classifiers_train": reason}, on_skip=None)
    assert failed(model) == {"check_classifiers_train"}


def test_probabilities_are_releases_and_predictions_are_unchanged():
    bare, model = logistic().fit(X, NAMES), ProtectedClassifier(logistic(), SPEC).fit(X, NAMES)
    scores, release = bare.predict_proba(X), model.predict_proba(X)
    assert np.array_equal(model.predict(X), bare.predict(X))
    assert np.array_equal(privee.ranking(release), privee.ranking(scores))
    assert (release != scores).all()
    assert not np.array_equal(release, model.predict_proba(X))  # fresh draws
    assert model.score(X, NAMES) == bare.score(X, NAMES)
    for raw in ("decision_function", "predict_log_proba"):
        assert not hasattr(model, raw)


def test_the_release_is_that_of_the_defense(monkeypatch):
    """The same draws, the same release: nothing else is done to the scores."""
    monkeypatch.setattr("privee.defenses.base.secure", lambda: privee.seeded(3))
    model = protect_fitted(logistic().fit(X, Y), SPEC)
    expected = privee.defense(SPEC).release(model.estimator_.predict_proba(X), draws=privee.seeded(3))
    assert np.array_equal(model.predict_proba(X), expected)


def test_in_pipelines_and_searches():
    inside = make_pipeline(StandardScaler(), ProtectedClassifier(logistic(), SPEC)).fit(X, Y)
    around = ProtectedClassifier(make_pipeline(StandardScaler(), logistic()), SPEC).fit(X, Y)
    assert np.array_equal(inside.predict(X), around.predict(X))
    specs = [privee.OrderedDP(epsilon=0.5), "ordered-dp:epsilon=16", "none"]
    search = GridSearchCV(
        ProtectedClassifier(logistic(), SPEC),
        {"defense": specs, "estimator__C": [0.1, 1.0]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    by_defense = search.cv_results_["mean_test_score"].reshape(3, 2).max(axis=1)
    assert (np.diff(by_defense) > 0).all()  # less noise, better probabilities
    assert search.best_params_["defense"] == "none"
    assert cross_val_predict(around, X, Y, method="predict_proba").shape == (150, 3)


def test_frames_with_strings_go_through_the_pipeline():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame({"job": np.where(Y == 0, "clerk", "smith"), "petal": X[:, 2]}, index=range(1000, 1150))
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = ProtectedClassifier(make_pipeline(encoder, logistic()), SPEC, repeatable=True).fit(frame, NAMES)
    assert model.feature_names_in_.tolist() == ["job", "petal"]
    first = model.predict_proba(frame)
    assert np.array_equal(first[::-1][:20], model.predict_proba(frame[::-1][:20]))


def test_repeatable_draws_differ_between_rows_and_between_keys():
    model = ProtectedClassifier(logistic(), SMOOTH, repeatable=True).fit(X, Y)
    first = model.predict_proba(X)
    assert np.array_equal(first, model.predict_proba(X))
    constant = protect_fitted(DecisionTreeClassifier(max_depth=1).fit(X, Y), SMOOTH, repeatable=True)
    _, rows = np.unique(X, axis=0, return_index=True)  # equal scores of different rows, so different draws
    assert len(np.unique(constant.predict_proba(X[rows]), axis=0)) == len(rows)
    other = clone(model).fit(X, Y)
    assert not np.isclose(first, other.predict_proba(X)).all(axis=1).any()
    key = privee.new_key()
    assert np.array_equal(model.use_key(key).predict_proba(X), other.use_key(key).predict_proba(X))


def test_pickles_and_clones_hold_no_secret():
    key = bytes(range(100, 132))
    model = ProtectedClassifier(logistic(), privee.defense(SPEC), repeatable=True).fit(X, Y).use_key(key)
    again = pickle.loads(pickle.dumps(model))  # noqa: S301 (our own)
    assert key not in pickle.dumps(model)
    assert "_repeatable" not in vars(again)
    assert str(key) not in repr(model)
    with pytest.raises(SettingError, match="give it again with use_key"):
        again.predict_proba(X)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(again.use_key(key).predict_proba(X), model.predict_proba(X))
    fresh = ProtectedClassifier(logistic(), SMOOTH).fit(X, Y)
    copies = [pickle.loads(pickle.dumps(fresh)).predict_proba(X) for _ in range(2)]  # noqa: S301
    assert not np.isclose(*copies).all(axis=1).any()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ProtectedClassifier(LinearSVC(), SPEC).fit(X, Y), "LinearSVC has no predict_proba"),
        (lambda: ProtectedClassifier(logistic(), "nonsense").fit(X, Y), "no defense is called 'nonsense'"),
        (lambda: ProtectedClassifier(logistic(), 5).fit(X, Y), "defense must be a defense or a spec"),
        (lambda: protect_fitted(logistic(), SPEC), "the estimator is not fitted"),
        (lambda: ProtectedClassifier(logistic(), SPEC).use_key(bytes(16)), "repeatable=True"),
        (
            lambda: protect_fitted(DecisionTreeClassifier().fit(X, np.stack([Y, Y], axis=1)), SPEC),
            "several outputs",
        ),
        (
            lambda: ProtectedClassifier(
                logistic(), privee.Repeatable(privee.defense(SPEC), key=bytes(16), model_version="1")
            ).fit(X, Y),
            "give the defense inside it",
        ),
        (
            lambda: (
                ProtectedClassifier(logistic(), SPEC, repeatable=True)
                .fit(X, Y)
                .set_params(defense="none")
                .predict_proba(X)
            ),
            "the defense was changed since fit",
        ),
    ],
)
def test_what_cannot_be_protected_is_named_in_one_line(make, says):
    with pytest.raises(SettingError) as caught:
        make()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)

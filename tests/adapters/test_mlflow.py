"""MLflow: a logged model is loaded again and gives releases; the audit lies beside it."""

import logging

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import privee
from privee.errors import ScoreError, SettingError

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed: privee[mlflow]")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")

X, Y = load_iris(return_X_y=True)
SPEC = "ordered-dp:epsilon=4"


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A run with a bare model, the same with a defense, and an audit."""
    from privee.adapters.mlflow import log_audit, log_protected
    from tests._support.own_models import small

    folder = tmp_path_factory.mktemp("mlflow")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
        patch.setenv("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
        patch.chdir(folder)
        logging.getLogger("mlflow").setLevel(logging.ERROR)
        logging.getLogger("alembic").setLevel(logging.ERROR)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/runs.db")
        model = LogisticRegression(max_iter=500).fit(X, Y)
        found = small(jobs=1)
        with mlflow.start_run() as run:
            settings = {"pip_requirements": ["scikit-learn"], "pyfunc_predict_fn": "predict_proba"}
            bare = mlflow.sklearn.log_model(model, name="bare", **settings)
            info = log_protected(bare.model_uri, SPEC)
            log_audit(found)
            with pytest.raises(SettingError, match="no defense is called"):
                log_protected(bare.model_uri, "nonsense")
        yield model, info.model_uri, run.info.run_id, found
        mlflow.set_tracking_uri(None)


def check(model, uri, monkeypatch):
    loaded = mlflow.pyfunc.load_model(uri)
    monkeypatch.setattr("privee.defenses.base.secure", lambda: privee.seeded(3))
    expected = privee.defense(SPEC).release(model.predict_proba(X), draws=privee.seeded(3))
    assert np.array_equal(loaded.predict(X), expected)


def test_a_saved_model_gives_releases_when_it_is_loaded(monkeypatch, tmp_path):
    """As it is logged, without a tracking store."""
    from privee.adapters.mlflow import _parts

    monkeypatch.chdir(tmp_path)
    model = LogisticRegression(max_iter=500).fit(X, Y)
    settings = {"pip_requirements": ["scikit-learn"], "pyfunc_predict_fn": "predict_proba"}
    mlflow.sklearn.save_model(model, str(tmp_path / "bare"), **settings)
    parts = _parts(str(tmp_path / "bare"), privee.defense(SPEC), tmp_path)
    mlflow.pyfunc.save_model(str(tmp_path / "protected"), **parts)
    check(model, str(tmp_path / "protected"), monkeypatch)
    assert f"privee=={privee.__version__}" in (tmp_path / "protected" / "requirements.txt").read_text("utf-8")
    assert not list((tmp_path / "protected").glob("*.pkl"))  # the defense is code and a spec


def test_classes_are_not_released_as_scores(tmp_path, monkeypatch):
    """A model that was logged as MLflow does by itself predicts classes; of two, 0 and 1 could be probabilities."""
    from privee.adapters.mlflow import _parts

    monkeypatch.chdir(tmp_path)
    two = Y < 2
    model = LogisticRegression(max_iter=500).fit(X[two], Y[two])
    mlflow.sklearn.save_model(model, str(tmp_path / "bare"), pip_requirements=["scikit-learn"])
    mlflow.pyfunc.save_model(str(tmp_path / "protected"), **_parts("bare", privee.defense(SPEC), tmp_path))
    with pytest.raises(ScoreError, match=r'is a class, not a score.*pyfunc_predict_fn="predict_proba"'):
        mlflow.pyfunc.load_model(str(tmp_path / "protected")).predict(X)


@pytest.mark.slow
def test_a_logged_model_gives_releases(logged, monkeypatch):
    check(*logged[:2], monkeypatch)


@pytest.mark.slow
def test_the_audit_is_an_artifact_and_its_grades_are_tags(logged, tmp_path):
    _, _, run, found = logged
    names = {one.path for one in mlflow.artifacts.list_artifacts(run_id=run, artifact_path="audit")}
    assert {"audit/report.html", "audit/audit.json"} <= names
    tags = mlflow.get_run(run).data.tags
    for card in found.cards:
        assert tags[f"privee.grade.{card.defense.replace(':', '_').replace('=', '_')}"] == card.grade

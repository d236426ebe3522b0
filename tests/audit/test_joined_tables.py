"""Models of other libraries on one joined table: they are asked by what they were trained on, text and gaps too."""

import numpy as np
import pytest
import torch
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from privee.audit import audit, from_lightgbm, from_onnx, from_sklearn, from_xgboost
from privee.errors import PriveeError, SettingError
from tests._support.foreign_models import onnx_session, small_table

pytest.importorskip("pandas", reason="pandas is not installed")
PRIVATE = ["income", "job"]
QUICK = {"seeds": 1, "records": 60, "auxiliary_rows": 100, "jobs": 1, "questions": []}


def encoder(table):
    text = [name for name in table if table[name].dtype.kind not in "fiu"]
    numbers = [name for name in table if name not in text]
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="error"), text), (make_pipeline(SimpleImputer(), StandardScaler()), numbers)
    )


def logistic(table, classes):
    return make_pipeline(encoder(table), LogisticRegression(max_iter=2000)).fit(table, classes)


def forest(table, classes):
    return make_pipeline(encoder(table), RandomForestClassifier(20, max_depth=6, random_state=0)).fit(table, classes)


def scores(subject):
    """What the subject's model says of all rows, in the table's order."""
    columns = torch.from_numpy(subject.columns)
    own = subject.model.own_columns
    return subject.model.scores(columns[:, :own], columns[:, own:]).numpy()


@pytest.mark.parametrize("make", [logistic, forest])
def test_the_subject_says_what_the_pipeline_says(make):
    table, classes = small_table()
    model = make(table, classes)
    subject = from_sklearn(model, table, PRIVATE)
    expected = model.predict_proba(table)
    assert np.abs(scores(subject) - expected).max() < 1e-9
    assert [(column.name, column.kind) for column in subject.private_columns] == [
        ("income", "number"),
        ("job", "category"),
    ]
    assert subject.private_columns[1].values == ("baker", "clerk", "smith")
    assert [column.name for column in subject.described if column.party == "active"] == ["age", "city", "years", "debt"]


def test_a_logistic_pipeline_is_recognised_through_text_and_gaps():
    table, classes = small_table()
    table.loc[table.index[3::7], "income"] = np.nan
    table.loc[table.index[::5], "job"] = None
    model = logistic(table, classes)
    subject = from_sklearn(model, table, PRIVATE)
    assert subject.model_name == "logistic"
    assert subject.model.linear is not None
    assert subject.model.differentiable
    assert np.abs(scores(subject) - model.predict_proba(table)).max() < 1e-9
    names = [column.name for column in subject.private_columns]
    assert names == ["income", "income given", "job"]
    assert subject.private_columns[2].values == ("baker", "clerk", "smith", "missing")


def test_two_private_numbers_of_a_logistic_pipeline_are_solved_and_a_ranking_hides_them():
    table, classes = small_table()
    subject = from_sklearn(logistic(table, classes), table, ["income", "debt"], labels=classes)
    found = audit(subject, defenses=["none", "ranking-only"], attacks=["equation-solving"], **QUICK)
    assert found.card("none").headline.error.mean < 1e-9
    assert found.card("none").grade == "open"
    assert found.card("ranking-only").headline.error.mean > 1e-3
    assert found.subjects[0].accuracy > 0.9


def test_a_forest_is_asked_by_tables_and_its_text_is_told():
    """Whoever sees scores of a forest knows who is a smith, which own columns do not tell."""
    table, classes = small_table()
    subject = from_sklearn(forest(table, classes), table, PRIVATE, name="risk")
    assert (subject.name, subject.model_name, subject.model.linear) == ("risk", "risk", None)
    attack = "shadow-inversion:calls=500"
    card = audit(subject, defenses=["none"], attacks=[attack], **QUICK).card("none")
    assert (card.worst.name, card.worst.question, card.worst.attack) == ("job", "smith", attack)
    assert (card.worst.auc > 0.8, card.worst.guess_auc < 0.6) == (True, True)


def test_what_attacks_try_reaches_the_model_as_it_was_trained():
    table, classes = small_table()
    table["city"] = table["city"].astype("category")
    table["job"] = table["job"].astype("string")
    seen = []

    class Watched:
        classes_ = np.unique(classes)

        def predict_proba(self, asked):
            seen.append(asked)
            return np.full((len(asked), 3), 1 / 3)

    subject = from_sklearn(Watched(), table, PRIVATE)
    between = torch.full((5, subject.columns.shape[1]), 0.4, dtype=torch.float64)
    subject.model.scores(between[:, : subject.model.own_columns], between[:, subject.model.own_columns :])
    asked = seen[-1]
    assert list(asked) == list(table)
    assert (asked.dtypes[["city", "job"]] == table.dtypes[["city", "job"]]).all()
    assert set(asked["job"]) <= set(table["job"])


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries(library):
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    table, classes = small_table()
    numbers = table[["age", "income", "years", "debt"]]
    model = LogisticRegression(max_iter=2000).fit(numbers.to_numpy() / 1000, classes)
    other = (
        module.from_pandas(numbers) if library == "polars" else module.Table.from_pandas(numbers, preserve_index=False)
    )

    class Takes:
        classes_ = model.classes_

        def predict_proba(self, asked):
            assert isinstance(asked, type(other))
            return model.predict_proba(np.stack([asked[name].to_numpy() for name in numbers], axis=1) / 1000)

    subject = from_sklearn(Takes(), other, ["income"])
    assert subject.model_name == "logistic"
    assert np.abs(scores(subject) - model.predict_proba(numbers.to_numpy() / 1000)).max() < 1e-9


def boosted(library, table, classes, *, native):
    module = pytest.importorskip(library, reason=f"{library} is not installed: privee[{library}]")
    ready = table.astype({"city": "category", "job": "category"})
    if library == "xgboost":
        if native:
            settings = {"objective": "multi:softprob", "num_class": 3, "nthread": 1}
            matrix = module.DMatrix(ready, classes, enable_categorical=True)
            booster = module.train(settings, matrix, 8)
            return booster, ready, booster.predict(matrix)
        model = module.XGBClassifier(n_estimators=8, n_jobs=1, enable_categorical=True).fit(ready, classes)
        return model, ready, model.predict_proba(ready)
    if native:
        settings = {"objective": "multiclass", "num_class": 3, "num_threads": 1, "verbose": -1}
        booster = module.train(settings, module.Dataset(ready, classes), 8)
        return booster, ready, booster.predict(ready)
    model = module.LGBMClassifier(n_estimators=8, n_jobs=1, verbose=-1).fit(ready, classes)
    return model, ready, model.predict_proba(ready)


@pytest.mark.parametrize("native", [True, False])
@pytest.mark.parametrize(("library", "opened"), [("xgboost", from_xgboost), ("lightgbm", from_lightgbm)])
def test_boosters_with_categories(library, opened, native):
    model, table, expected = boosted(library, *small_table(), native=native)
    subject = opened(model, table, PRIVATE)
    assert np.abs(scores(subject) - expected).max() < 1e-6
    if not native:
        return
    worst = audit(subject, defenses=["none"], attacks=["boosted-trees"], **QUICK).card("none").worst
    assert (worst.name, worst.question) == ("job", "smith")
    assert (worst.auc > 0.8, worst.guess_auc < 0.6) == (True, True)


def test_onnx_with_one_input_and_with_one_for_each_column(tmp_path):
    table, classes = small_table()
    numbers = table[["age", "income", "years", "debt"]].astype(np.float32)
    flat = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=4, random_state=0)).fit(
        numbers.to_numpy(), classes
    )
    session = onnx_session(flat, numbers.to_numpy()[:1])
    subject = from_onnx(session, numbers, ["income"])
    assert np.abs(scores(subject) - flat.predict_proba(numbers.to_numpy())).max() < 1e-5
    both = table[["age", "job", "income"]].astype({"age": np.float32, "income": np.float32})
    piped = make_pipeline(encoder(both), LogisticRegression(max_iter=2000)).fit(both, classes)
    named = onnx_session(piped, both[:1], zipmap=False)
    assert len(named.get_inputs()) == 3
    subject = from_onnx(named, both, ["income", "job"])
    assert np.abs(scores(subject) - piped.predict_proba(both)).max() < 1e-5
    with pytest.raises(PriveeError, match="lacks columns that the model takes: job"):
        from_onnx(named, both[["age", "income"]], ["income"])


def test_models_travel_to_other_processes():
    import cloudpickle

    for model, table, expected in (
        boosted("xgboost", *small_table(40), native=True),
        boosted("lightgbm", *small_table(40), native=True),
    ):
        subject = cloudpickle.loads(cloudpickle.dumps(from_xgboost(model, table, PRIVATE)))
        assert np.abs(scores(subject) - expected).max() < 1e-6


@pytest.mark.slow
def test_an_audit_over_worker_processes_finds_the_same():
    table, classes = small_table(120)
    numbers = table[["age", "income", "years", "debt"]].astype(np.float32)
    flat = RandomForestClassifier(5, max_depth=4, random_state=0).fit(numbers.to_numpy(), classes)
    subject = from_onnx(onnx_session(flat, numbers.to_numpy()[:1]), numbers, ["income"])
    settings = {"defenses": ["none"], "attacks": ["boosted-trees", "learned-inversion:simulations=1"]}
    alone = audit(subject, **settings, **QUICK)
    shared = audit(subject, **settings, **(QUICK | {"jobs": 2}))
    assert alone.card("none").headline.error == shared.card("none").headline.error


def test_labels_and_codes():
    table, classes = small_table()
    names = np.array(["low", "middle", "high"])[classes]
    model = logistic(table.drop(columns="debt"), names)
    given = table.drop(columns="debt").assign(grade=names)
    subject = from_sklearn(model, given, PRIVATE, labels="grade")
    assert (subject.labels == np.searchsorted(model.classes_, names)).all()
    assert "grade" not in [column.name for column in subject.described]
    codes = from_sklearn(logistic(table, classes), table, ["years"], categories=["age"])
    assert {column.name: column.kind for column in codes.described}["age"] == "category"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"private": ["wage"]}, "no column 'wage'"),
        ({"private": []}, "private must name some"),
        ({"private": "income"}, "no column 'i'"),
        ({"private": ["age", "city", "income", "years", "job", "debt"]}, "leave some"),
        ({"model": object()}, "object has no predict_proba"),
        ({"table": np.ones(5)}, "(rows, columns) array"),
        ({"labels": "grade"}, "no column 'grade'"),
    ],
)
def test_what_cannot_be_audited_is_named_in_one_line(more, says):
    table, classes = small_table(30)
    with pytest.raises(SettingError) as caught:
        from_sklearn(**({"model": logistic(table, classes), "table": table, "private": PRIVATE} | more))
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_odd_columns_are_named():
    table, classes = small_table(30)
    model = logistic(table, classes)
    import pandas

    with pytest.raises(SettingError, match="'since' holds Timestamp"):
        from_sklearn(model, table.assign(since=pandas.Timestamp("2020-01-01")), PRIVATE)
    with pytest.raises(SettingError, match="a subject has its columns"):
        audit(from_sklearn(model, table, PRIVATE), labels=classes)

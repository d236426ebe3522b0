"""Small models, written in the formats that a gateway reads."""

import numpy as np

COLUMNS = ("age", "income", "debt", "years")
FUNCTION = '''
import numpy as np


def scores(table):
    """The second class by age alone."""
    assert table.column_names == ["age", "income", "debt", "years"], table.column_names
    likely = 1 / (1 + np.exp(-table["age"].to_numpy()))
    return np.column_stack([1 - likely, likely])


scores.classes = ("no", "yes")


def moody(table):
    """Fails for some rows, and gives no scores for others."""
    age = table["age"].to_numpy()
    if (age > 1).any():
        raise ValueError(f"too old: {age}")
    return np.full((len(age), 2), 0.5) + np.where(age < -1, 7.0, 0.0)[:, None]


def slow(table):
    import time

    if len(table) > 1:
        time.sleep(1.5)
    return np.full((len(table), 2), 0.5)
'''


def text_pipeline(frame, y, file, *, filled=False):
    import skops.io
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    texts = OneHotEncoder(handle_unknown="ignore")
    if filled:
        texts = make_pipeline(SimpleImputer(strategy="most_frequent"), texts)
    encoder = ColumnTransformer([("text", texts, ["work"])], remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression(max_iter=500)).fit(frame[["work", "age"]], y)
    skops.io.dump(model, file)
    return model


def untrusted(file):
    import skops.io
    from sklearn.preprocessing import FunctionTransformer

    skops.io.dump(FunctionTransformer(untrusted), file)


def xgboost(x, y, file):
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(x, y)
    model.save_model(file)
    return model


def xgboost_regression(x, y, file):
    from xgboost import XGBRegressor

    XGBRegressor(n_estimators=2, n_jobs=1).fit(x, y).save_model(file)


def lightgbm(x, y, file):
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=8, min_child_samples=5, n_jobs=1, verbose=-1).fit(x, y)
    model.booster_.save_model(file)
    return model


def lightgbm_regression(x, y, file):
    from lightgbm import LGBMRegressor

    LGBMRegressor(n_estimators=2, n_jobs=1, verbose=-1).fit(x, y).booster_.save_model(file)


def onnx(model, file, *, zipmap):
    from skl2onnx import to_onnx

    width = model.n_features_in_
    made = to_onnx(model, np.zeros((1, width), np.float32), options={id(model): {"zipmap": zipmap}})
    file.write_bytes(made.SerializeToString())


def onnx_by_columns(x, y, file):
    import pandas as pd
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    frame = pd.DataFrame(x, columns=list(COLUMNS))
    same = ColumnTransformer([("all", "passthrough", list(COLUMNS))])
    model = make_pipeline(same, LogisticRegression(max_iter=500)).fit(frame, y)
    kinds = [(name, FloatTensorType([None, 1])) for name in COLUMNS]
    last = model.steps[-1][1]
    made = to_onnx(model, initial_types=kinds, options={id(last): {"zipmap": False}})
    file.write_bytes(made.SerializeToString())

    class Named:
        predict_proba = staticmethod(lambda rows: model.predict_proba(pd.DataFrame(rows, columns=list(COLUMNS))))

    return Named


def onnx_of_whole_numbers(file):
    """A tensor of whole numbers for each of two columns, which are the scores."""
    from onnx import TensorProto, helper

    names = ("first", "second")
    takes = [helper.make_tensor_value_info(name, TensorProto.INT64, [None, 1]) for name in names]
    gives = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 2])
    nodes = [helper.make_node("Concat", names, ["both"], axis=1), helper.make_node("Cast", ["both"], ["y"], to=1)]
    graph, opset = helper.make_graph(nodes, "g", takes, [gives]), helper.make_opsetid("", 17)
    file.write_bytes(helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString())


def onnx_with_weights_outside(file):
    import onnx as library
    from onnx import TensorProto, helper, numpy_helper

    weights = numpy_helper.from_array(np.ones((4, 3), np.float32), "w")
    node = helper.make_node("MatMul", ["x", "w"], ["y"])
    takes = helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 4])
    gives = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 3])
    model = helper.make_model(helper.make_graph([node], "g", [takes], [gives], [weights]))
    library.save_model(
        model, file, save_as_external_data=True, all_tensors_to_one_file=True, location="w.bin", size_threshold=0
    )

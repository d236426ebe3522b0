"""A table with text and gaps, and models of other libraries that were trained on it."""

import numpy as np
import pytest


def small_table(rows: int = 240):
    """A pandas frame: three private columns, three others, and which of three classes each row has."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    rng = np.random.default_rng(0)
    income, debt = rng.gamma(4, 10_000, rows), rng.random(rows) * 50
    job = rng.choice(["clerk", "smith", "baker"], rows)
    frame = pandas.DataFrame(
        {
            "age": rng.integers(18, 80, rows),
            "city": rng.choice(["east", "west"], rows),
            "income": income,
            "years": rng.random(rows) * 10,
            "job": job,
            "debt": debt,
        },
        index=[f"customer {k}" for k in range(rows)],
    )
    drive = income / 40_000 + (job == "smith") + frame["age"].to_numpy() / 50 - debt / 40
    return frame, np.digitize(drive, np.quantile(drive, [0.33, 0.66]))


def onnx_session(model, example, **options):
    """An onnxruntime session of a scikit-learn model."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: privee[onnx]")
    skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
    made = skl2onnx.to_onnx(model, example, options={id(model): options} if options else None)
    return runtime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])

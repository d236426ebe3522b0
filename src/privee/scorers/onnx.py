"""ONNX sessions: which of their outputs are scores, and how a table becomes their inputs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.extras import needed
from privee.scorers.rows import scores_of_outputs
from privee.scores.forms import Floats

FLOATS = ("tensor(float)", "tensor(double)")
LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
DTYPES: Mapping[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.str_,
}


def open_session(model: Any) -> Any:
    """The session itself, or one of a file or of a model's bytes."""
    if hasattr(model, "run") and hasattr(model, "get_outputs"):
        return model
    runtime = needed("onnxruntime", "onnxruntime", extra="onnx", what="an ONNX model")
    source = model if isinstance(model, bytes) else str(Path(model))
    try:
        return runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever the runtime has for it
        raise PriveeError(f"this is no ONNX model that onnxruntime opens: {type(error).__name__}") from None


def score_output(session: Any, named: str | None = None) -> str:
    """The name of the output that holds scores: the one of its kind, or the one that is named."""
    found = {output.name: output.type for output in session.get_outputs()}
    likely = [name for name, kind in found.items() if kind in FLOATS or kind.startswith("seq(map(")]
    if named is not None and named not in likely:
        raise SettingError(f"the session puts out no scores called {named!r}; there are {', '.join(likely) or 'none'}")
    if named is None and len(likely) != 1:
        raise SettingError(
            f"which output holds the scores? Name it with scores=: {', '.join(likely) or 'there is none'}"
        )
    return named or likely[0]


def label_outputs(session: Any) -> list[str]:
    """The outputs that hold classes, not scores."""
    return [output.name for output in session.get_outputs() if output.type in LABELS]


def is_zipped(values: Any) -> bool:
    """Are these scores one mapping from class to score for each row, as ONNX-ML's ZipMap makes them?"""
    return isinstance(values, list)


def rows_of(values: Any) -> Floats:
    """An output as rows of scores."""
    if not is_zipped(values):
        return scores_of_outputs(values)
    classes = list(values[0]) if values else ["none", "at all"]
    rows = [[row[one] for one in classes] for row in values]
    return np.array(rows, dtype=np.float32).reshape(len(values), len(classes))


class OnnxScores:
    """A function from columns by name to an output's rows. A worker process opens the model again by itself."""

    def __init__(self, model: Any, named: str | None = None) -> None:
        self._session = open_session(model)
        self._source = model if self._session is not model else _source_of(model)
        self._output = score_output(self._session, named)

    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> Floats:
        (values,) = self._session.run([self._output], self._feeds(columns))
        return rows_of(values)

    def _feeds(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """One input takes all columns side by side, or each column has an input of its name."""
        inputs = self._session.get_inputs()
        if len(inputs) == 1 and inputs[0].name not in columns:
            stacked = np.stack([_as(inputs[0].type, column) for column in columns.values()], axis=1)
            return {inputs[0].name: stacked}
        absent = [one.name for one in inputs if one.name not in columns]
        if absent:
            raise PriveeError(f"the table lacks columns that the model takes: {', '.join(absent)}")
        return {one.name: _as(one.type, columns[one.name]).reshape(_shape(one)) for one in inputs}

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise PriveeError("an open ONNX session does not travel between processes: give its file, or jobs=1")
        return OnnxScores, (self._source, self._output)


def _source_of(session: Any) -> Any:
    """What a session was made from, if it still knows."""
    return getattr(session, "_model_bytes", None) or getattr(session, "_model_path", None)


def _as(kind: str, column: NDArray[Any]) -> NDArray[Any]:
    try:
        values = column.astype(DTYPES[kind])
        return values.astype(object) if kind == "tensor(string)" else values
    except (KeyError, TypeError, ValueError):
        raise PriveeError(f"a column cannot be given to the model as {kind}") from None


def _shape(given: Any) -> tuple[int, ...]:
    return (-1, 1) if len(given.shape) > 1 else (-1,)

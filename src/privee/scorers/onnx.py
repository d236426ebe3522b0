"""ONNX sessions: which of their outputs are scores, and how a table becomes their inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.extras import needed
from privee.given import existing_file
from privee.scorers.rows import scores_of_outputs
from privee.scores.forms import Floats

FLOATS = ("tensor(float)", "tensor(double)")
LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
WHOLE = ("tensor(int64)", "tensor(int32)", "tensor(bool)")
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
    if not isinstance(model, bytes | str | os.PathLike):
        raise SettingError(f"expected an ONNX file, its bytes or an InferenceSession, got {type(model).__name__}")
    runtime = needed("onnxruntime", "onnxruntime", extra="onnx", what="an ONNX model")
    source = model if isinstance(model, bytes) else str(existing_file(Path(model), "the ONNX model"))
    try:
        return runtime.InferenceSession(source, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever the runtime has for it
        raise PriveeError(f"this is no ONNX model that onnxruntime opens: {type(error).__name__}") from None


def score_output(session: Any, named: str | None = None, *, by: str = "scores=") -> str:
    """The name of the output that holds scores: the one of its kind, or the one that is named, by what `by` says."""
    found = {output.name: output.type for output in session.get_outputs()}
    likely = [name for name, kind in found.items() if kind in FLOATS or kind.startswith("seq(map(")]
    if named is not None and named not in likely:
        raise SettingError(f"the session puts out no scores called {named!r}; there are {', '.join(likely) or 'none'}")
    if named is None and len(likely) != 1:
        raise SettingError(f"which output holds the scores? Name it with {by}: {', '.join(likely) or 'there is none'}")
    return named or likely[0]


def label_outputs(session: Any) -> list[str]:
    """The outputs that hold classes, not scores."""
    return [output.name for output in session.get_outputs() if output.type in LABELS]


def is_zipped(values: Any) -> bool:
    """Are these scores one mapping from class to score for each row, as ONNX-ML's ZipMap makes them?"""
    return isinstance(values, list)


def rows_of(values: Any) -> NDArray[Any]:
    """An output with a row for each row that was asked about, zipped or not."""
    if not is_zipped(values):
        return np.asarray(values)
    classes = list(values[0]) if values else ["none", "at all"]
    rows = [[row[one] for one in classes] for row in values]
    return np.array(rows, dtype=np.float32).reshape(len(values), len(classes))


def feeds(inputs: Sequence[Any], columns: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """What a session is given: one input takes all columns side by side, several take one each, in their order."""
    if len(inputs) == 1 and len(inputs[0].shape) != 1:
        return {inputs[0].name: np.stack([_as(inputs[0].type, column) for column in columns], axis=1)}
    pairs = zip(inputs, columns, strict=True)
    return {one.name: _as(one.type, column).reshape(_shape(one)) for one, column in pairs}


class OnnxScores:
    """A function from columns by name to an output's rows. A worker process opens the model again by itself."""

    def __init__(self, model: Any, named: str | None = None) -> None:
        self._session = open_session(model)
        self._source = model if self._session is not model else _source_of(model)
        self._output = score_output(self._session, named)

    def __call__(self, columns: Mapping[str, NDArray[Any]]) -> Floats:
        (values,) = self._session.run([self._output], self._feeds(columns))
        return scores_of_outputs(rows_of(values))

    def _feeds(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """One input takes all columns side by side, or each column has an input of its name."""
        inputs = self._session.get_inputs()
        if len(inputs) == 1 and inputs[0].name not in columns:
            return feeds(inputs, list(columns.values()))
        absent = [one.name for one in inputs if one.name not in columns]
        if absent:
            raise PriveeError(f"the table lacks columns that the model takes: {', '.join(absent)}")
        return feeds(inputs, [columns[one.name] for one in inputs])

    def __reduce__(self) -> tuple[Any, ...]:
        if self._source is None:
            raise PriveeError("an open ONNX session does not travel between processes: give its file, or jobs=1")
        return OnnxScores, (self._source, self._output)


def _source_of(session: Any) -> Any:
    """What a session was made from, if it still knows."""
    return getattr(session, "_model_bytes", None) or getattr(session, "_model_path", None)


def _as(kind: str, column: NDArray[Any]) -> NDArray[Any]:
    try:
        if kind in WHOLE and not np.isfinite(column.astype(np.float64)).all():
            raise ValueError("a gap would become some number")
        values = column.astype(DTYPES[kind])
        return values.astype(object) if kind == "tensor(string)" else values
    except (KeyError, TypeError, ValueError):
        raise PriveeError(f"a column cannot be given to the model as {kind}: it has gaps, or other values") from None


def _shape(given: Any) -> tuple[int, ...]:
    return (-1, 1) if len(given.shape) > 1 else (-1,)

"""A model in an ONNX file, run by onnxruntime: one tensor of numbers, or one tensor for each column by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from privee.errors import SettingError
from privee.extras import needed
from privee.gateway.scorers.base import Scorer, read_model, register
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings

DTYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(string)": object,
}
MAPS = "seq(map("
"""What converters of scikit-learn's models put out unless told otherwise: class and probability in a dict per row."""


@register
class OnnxFile(Scorer):
    """An onnxruntime session."""

    name: ClassVar[str] = "onnx"
    words: ClassVar[str] = "an ONNX file"
    suffixes: ClassVar[tuple[str, ...]] = (".onnx",)

    def __init__(self, session: Any, version: str, output: str | None, file: str) -> None:
        self._session, self.version, self._inputs = session, version, list(session.get_inputs())
        strange = [one.type for one in self._inputs if one.type not in DTYPES]
        if strange:
            raise SettingError(f"{file} takes {strange[0]}; a scorer takes numbers and texts")
        if len(self._inputs) > 1:
            self.names = tuple(one.name for one in self._inputs)
            self.features = len(self.names)
        elif isinstance(width := self._inputs[0].shape[-1], int):
            self.features = width
        self._output = _output(session.get_outputs(), output, file)
        self._maps = self._output.type.startswith(MAPS)
        last = self._output.shape[-1] if self._output.shape else None
        if not self._maps and isinstance(last, int) and last > 1:
            self.classes = tuple(map(str, range(last)))

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Read it from memory: files that it would name beside itself are none of its own, and are not read."""
        runtime = needed("onnxruntime", "onnxruntime", extra="onnx", what="an ONNX file")
        content, version = read_model(settings.given)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            session = runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            hint = "; weights in files beside it are not read" if "external" in str(error).lower() else ""
            raise SettingError(
                f"{settings.given} is no ONNX model that can be run ({type(error).__name__}{hint})"
            ) from None
        return cls(session, version, settings.output, Path(settings.given).name)

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Run it."""
        found = self._session.run([self._output.name], self._fed(rows))[0]
        if not self._maps:
            return np.asarray(found)
        keys = sorted(found[0]) if self.classes is None else list(found[0])
        self.classes = self.classes or tuple(map(str, keys))
        by_text = [{str(key): value for key, value in row.items()} for row in found]
        return np.array([[row[name] for name in self.classes] for row in by_text])

    def _fed(self, rows: Rows) -> dict[str, NDArray[Any]]:
        if len(self._inputs) == 1:
            only = self._inputs[0]
            values = rows.values if only.type == "tensor(string)" else rows.numbers
            return {only.name: np.ascontiguousarray(values.astype(DTYPES[only.type]))}
        fed = {}
        for place, one in enumerate(self._inputs):
            column = rows.values[:, place].astype(DTYPES[one.type])
            fed[one.name] = column if len(one.shape or ()) == 1 else column[:, None]
        return fed


def _output(outputs: list[Any], wanted: str | None, file: str) -> Any:
    """The one that is named; else the only one of numbers with a column for each class."""
    names = ", ".join(one.name for one in outputs)
    if wanted is not None:
        found = [one for one in outputs if one.name == wanted]
        if not found:
            raise SettingError(f"{file} has no output {wanted!r}; it has {names}")
        return found[0]
    floats = [one for one in outputs if one.type in ("tensor(float)", "tensor(double)") or one.type.startswith(MAPS)]
    if len(floats) != 1:
        raise SettingError(f"which output of {file} are the scores? Give --scorer-output, one of {names}")
    return floats[0]

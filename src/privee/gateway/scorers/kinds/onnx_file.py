"""A model in an ONNX file, run by onnxruntime: one tensor of numbers, or one tensor for each column by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

from numpy.typing import NDArray

from privee.errors import SettingError
from privee.extras import needed
from privee.gateway.scorers.base import Scorer, read_model, register
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.scorers.onnx import DTYPES, feeds, is_zipped, rows_of, score_output


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
        self._output = score_output(session, output, by="--scorer-output")
        shape = next(one.shape for one in session.get_outputs() if one.name == self._output)
        if shape and isinstance(shape[-1], int) and shape[-1] > 1:
            self.classes = tuple(map(str, range(shape[-1])))

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
        """Run it. Where it names classes, in a ZipMap, they are the model's."""
        values = rows.values
        if len(self._inputs) == 1 and self._inputs[0].type != "tensor(string)":
            values = rows.numbers  # says what is wrong with texts
        (found,) = self._session.run([self._output], feeds(self._inputs, list(values.T)))
        if is_zipped(found):
            self.classes = self.classes or tuple(map(str, found[0]))
        return rows_of(found)

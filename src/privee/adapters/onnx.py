"""ONNX: a session of onnxruntime whose scores are releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from privee.adapters._given import Outputs, given_defense, given_outputs
from privee.defenses import Defense
from privee.errors import SettingError
from privee.scorers.onnx import is_zipped, label_outputs, open_session, rows_of, score_output
from privee.scorers.rows import scores_of_outputs

__all__ = ["ProtectedSession", "protect_session"]


class ProtectedSession:
    """Runs a session and gives releases in place of its scores.

    Of the other outputs only predicted classes (whole numbers or text) are passed on; whatever else a model puts out
    may tell what the release does not. Made by `protect_session`.
    """

    def __init__(self, session: Any, defense: Defense, scores: str, outputs: Outputs) -> None:
        self._session, self._defense, self._scores, self._outputs = session, defense, scores, outputs
        self._allowed = {scores, *label_outputs(session)}

    def get_inputs(self) -> list[Any]:
        """Those of the session."""
        found: list[Any] = self._session.get_inputs()
        return found

    def get_outputs(self) -> list[Any]:
        """Those that are handed out: the scores, as releases, and predicted classes."""
        return [output for output in self._session.get_outputs() if output.name in self._allowed]

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, Any], run_options: Any = None
    ) -> list[Any]:
        """As `onnxruntime.InferenceSession.run`, with releases; fresh secure draws in each call."""
        wanted = [output.name for output in self.get_outputs()] if not output_names else list(output_names)
        kept_back = [name for name in wanted if name not in self._allowed]
        if kept_back:
            raise SettingError(
                f"{', '.join(kept_back)} is not handed out; there are {', '.join(sorted(self._allowed))}"
            )
        found = dict(zip(wanted, self._session.run(wanted, input_feed, run_options), strict=True))
        return [self._released(values) if name == self._scores else values for name, values in found.items()]

    def _released(self, values: Any) -> Any:
        release = self._defense.release(scores_of_outputs(rows_of(values), logits=self._outputs == "logits"))
        return _zipped(values, release) if is_zipped(values) else release


def _zipped(values: list[dict[Any, float]], release: Any) -> list[dict[Any, float]]:
    """One mapping from class to number for each row, as they came."""
    return [dict(zip(values[0], row.tolist(), strict=True)) for row in release]


def protect_session(
    session: Any, defense: Defense | str, *, scores: str | None = None, outputs: Outputs = "scores"
) -> ProtectedSession:
    """A session (or an ONNX file's) whose `run` gives releases.

    Args:
        session: an `onnxruntime.InferenceSession`, or the path or the bytes of a model.
        defense: a defense, or a spec such as "ordered-dp:epsilon=4".
        scores: the name of the output with the scores, if there are several that could be it.
        outputs: does it hold "scores" or "logits"? One for each row is that of the second of two classes.
    """
    opened = open_session(session)
    return ProtectedSession(opened, given_defense(defense), score_output(opened, scores), given_outputs(outputs))

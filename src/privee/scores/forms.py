"""The forms scores arrive in: NumPy, torch or a table, one vector or a batch; none but NumPy need be installed."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from privee.errors import ScoreError
from privee.scores.frames import Frame, as_frame

Floats = NDArray[np.floating[Any]]


class Form(NamedTuple):
    """How the caller's array looked, so that the answer can look the same."""

    one_vector: bool = False
    tensor: Any = None
    frame: Frame | None = None

    def restore(self, rows: Floats) -> Any:
        """Turn (n, K) rows back into the caller's form."""
        if self.frame is not None:
            return self.frame.replaced(dict(zip(self.frame.labels, rows.T, strict=True)), self.frame.labels)
        array = rows[0] if self.one_vector else rows
        if self.tensor is None:
            return array
        return sys.modules["torch"].from_numpy(array).to(self.tensor.device)


def to_rows(array: Any) -> tuple[Floats, Form]:
    """Return the array as contiguous (n, K) float32 or float64 rows, and its form.

    Lists and integers become float64; float16 and bfloat16 are refused, because ranking half-precision
    scores is the caller's decision to make. Of a pandas, polars or Arrow table all columns are scores.
    """
    frame = None if type(array) is np.ndarray else as_frame(array)
    if frame is not None:
        return _numeric(np.ascontiguousarray(frame.matrix(frame.labels))), Form(frame=frame)
    tensor = array if _is_tensor(array) else None
    values = _numeric(array if tensor is None else _from_tensor(tensor))
    if not values.flags.c_contiguous:
        values = np.ascontiguousarray(values)
    if values.ndim == 2:
        return values, Form(False, tensor)
    if values.ndim == 1:
        return values[None], Form(True, tensor)
    raise ScoreError(f"expected one vector (K,) or a batch (n, K), got shape {values.shape}")


def _is_tensor(array: Any) -> bool:
    if type(array) is np.ndarray:
        return False
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def _from_tensor(tensor: Any) -> NDArray[Any]:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind in ("float16", "bfloat16"):
        raise _half_precision(kind)
    values: NDArray[Any] = tensor.detach().cpu().numpy()
    return values


def _numeric(array: Any) -> Floats:
    try:
        values = np.asarray(array)
    except ValueError as error:
        raise ScoreError(f"not an array of numbers: {error}") from None
    if values.dtype.char in "df":
        return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    if values.dtype == np.float16:
        raise _half_precision("float16")
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    raise ScoreError(f"scores must be float32 or float64, got {values.dtype}")


def _half_precision(kind: str) -> ScoreError:
    return ScoreError(f"scores must be float32 or float64, got {kind}; cast to float32 first")

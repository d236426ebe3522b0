"""The adapter for ONNX is there; a session needs a model, which other packages make."""

import onnxruntime

from privee.adapters.onnx import protect_session

assert callable(protect_session)
assert onnxruntime.get_available_providers()

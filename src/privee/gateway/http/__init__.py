"""The gateway over HTTP: the Open Inference Protocol, who may ask, limits, logs and metrics."""

"""Traces: spans of a request with its steps reach an exporter."""

from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from privee import traces

kept = InMemorySpanExporter()
with traces.started(SimpleSpanProcessor(kept)), traces.span("privee.request"), traces.span("privee.ledger"):
    pass
assert [span.name for span in kept.get_finished_spans()] == ["privee.ledger", "privee.request"]

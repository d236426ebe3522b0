"""OpenTelemetry traces: how long the steps of a request take. Off, and nearly free, unless somebody starts them.

A span has a name, times, and the few attributes of `ATTRIBUTES`: no ids of entities, scores, features or keys, and of
an error its type alone, since its words may quote data. Nothing that a caller sends is taken over, its trace neither.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from typing import Any, ParamSpec, TypeAlias, TypeVar

from privee.errors import SettingError
from privee.extras import needed
from privee.version import __version__

Args = ParamSpec("Args")
Result = TypeVar("Result")
Step: TypeAlias = Callable[Args, Coroutine[Any, Any, Result]]
ATTRIBUTES = frozenset({"http.request.method", "http.route", "http.response.status_code", "error.type", "privee.party"})
"""All that a span may say beside its name."""
_tracer: Any = None


@contextlib.contextmanager
def exported(address: str | None) -> Iterator[None]:
    """Within this, spans go to a collector's address (OTLP over HTTP); to None: nothing is traced.

    Raises:
        SettingError: the address is none.
        MissingExtraError: OpenTelemetry is not installed.
    """
    if address is None:
        yield
        return
    with started(_batches(address)):
        yield


def check(address: str) -> None:
    """Refuse an address to which nothing can be sent, or traces that are not installed, before anything starts."""
    if not address.startswith(("http://", "https://")):
        raise SettingError("traces go to the address of a collector (OTLP over HTTP): http://HOST:4318")
    for module in ("opentelemetry.sdk.trace.export", "opentelemetry.exporter.otlp.proto.http.trace_exporter"):
        needed(module, module.partition(".")[0], extra="traces", what="a trace")


@contextlib.contextmanager
def started(processor: Any) -> Iterator[None]:
    """Within this, spans go to a processor of OpenTelemetry's SDK; what it has is sent at the end."""
    global _tracer
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider

    about = Resource.create({"service.name": "privee-gateway", "service.version": __version__})
    provider = TracerProvider(resource=about, shutdown_on_exit=False)  # ours alone: no other package's spans get in
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer("privee", __version__)
    try:
        yield
    finally:
        _tracer = None
        provider.shutdown()


@contextlib.contextmanager
def span(name: str, **attributes: str | int) -> Iterator[Callable[[str, str | int], None]]:
    """A step, as long as the block takes; gives a function that says more of it. Attributes have _ for their dots."""
    if _tracer is None:
        yield lambda key, value: None
        return
    with _tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as found:

        def tell(key: str, value: str | int) -> None:
            if key not in ATTRIBUTES:
                raise ValueError(f"spans do not say {key}")
            found.set_attribute(key, value)

        for key, value in attributes.items():
            tell(key.replace("_", "."), value)
        try:
            yield tell
        except BaseException as error:
            tell("error.type", type(error).__name__)
            raise


def within(name: str, step: Awaitable[Result], **attributes: str | int) -> Awaitable[Result]:
    """A step in a span of its own, or the step itself where nothing is traced."""
    return step if _tracer is None else _within(name, step, attributes)


async def _within(name: str, step: Awaitable[Result], attributes: Mapping[str, str | int]) -> Result:
    with span(name, **attributes):
        return await step


def traced(name: str) -> Callable[[Step[Args, Result]], Step[Args, Result]]:
    """Decorates a coroutine function that is a step."""

    def decorate(step: Step[Args, Result]) -> Step[Args, Result]:
        @functools.wraps(step)
        def call(*args: Args.args, **kwargs: Args.kwargs) -> Coroutine[Any, Any, Result]:
            found = step(*args, **kwargs)
            return found if _tracer is None else _within(name, found, {})

        return call

    return decorate


def _batches(address: str) -> Any:
    check(address)
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    return BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{address.rstrip('/')}/v1/traces"))

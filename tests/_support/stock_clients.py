"""The protocol's stock clients, tritonclient's from PyPI, asked alike: they know nothing of privee."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from privee.gateway.demo import MODEL

pytest.importorskip("tritonclient")
import tritonclient.grpc
import tritonclient.http
from tritonclient.utils import InferenceServerException

GRPC_OF = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


@dataclasses.dataclass
class Stock:
    """One of the two; `json` has HTTP's send and ask for text instead of bytes."""

    module: Any
    client: Any
    key: str | None
    json: bool = False

    @property
    def over_http(self) -> bool:
        return self.module is tritonclient.http

    def headers(self) -> dict[str, str]:
        name = "Authorization" if self.over_http else "authorization"
        return {} if self.key is None else {name: f"Bearer {self.key}"}

    def tensor(self, name: str, datatype: str, values: np.ndarray) -> Any:
        made = self.module.InferInput(name, list(values.shape), datatype)
        made.set_data_from_numpy(values, **({"binary_data": not self.json} if self.over_http else {}))
        return made

    def ask(
        self, entities: Sequence[Any], columns: np.ndarray | None = None, *, model: str = MODEL, **more: Any
    ) -> Any:
        """The stock result. Entities are text or bytes, or whole numbers all of them."""
        inputs = [self.entities(entities)]
        if columns is not None:
            inputs.append(self.tensor("columns", "FP32" if columns.dtype == np.float32 else "FP64", columns))
        if self.json:
            more = {"outputs": [tritonclient.http.InferRequestedOutput("release", binary_data=False)]} | more
        return self.client.infer(model, inputs, headers=self.headers(), **more)

    def entities(self, given: Sequence[Any]) -> Any:
        if isinstance(given[0], int):
            return self.tensor("entities", "INT64", np.array(given, dtype=np.int64))
        raw = [one if isinstance(one, bytes) else one.encode() for one in given]
        return self.tensor("entities", "BYTES", np.array(raw, dtype=object))

    def release(self, entities: Sequence[Any], columns: np.ndarray | None = None, **more: Any) -> np.ndarray:
        return self.ask(entities, columns, **more).as_numpy("release")

    def refusal(self, *asked: Any, **more: Any) -> tuple[int, str]:
        """HTTP's status, or what stands for it, and the words with which the gateway said no."""
        with pytest.raises(InferenceServerException) as caught:
            self.ask(*asked, **more)
        return status(caught.value), caught.value.message()

    def said(self, result: Any) -> dict[str, Any]:
        """The parameters of an answer."""
        response = result.get_response()
        if self.over_http:
            return response["parameters"]
        return {name: getattr(one, one.WhichOneof("parameter_choice")) for name, one in response.parameters.items()}


def status(error: InferenceServerException) -> int:
    """HTTP's status, or that which a gRPC code stands for."""
    told = error.status()
    if told.isdigit():
        return int(told)
    (found,) = [number for number, name in GRPC_OF.items() if told == f"StatusCode.{name}"]
    return found


@contextlib.contextmanager
def stock(way: str, place: dict[str, str], key: str | None, ca: str | None = None) -> Iterator[Stock]:
    """`way` is binary, json or grpc; `place` is what a gateway wrote when it was ready."""
    json = way == "json"
    if way == "grpc":
        secure = {} if ca is None else {"ssl": True, "root_certificates": ca}
        client = tritonclient.grpc.InferenceServerClient(place["grpc"], **secure)
        module = tritonclient.grpc
    else:
        secure = {} if ca is None else {"ssl": True, "ssl_options": {"ca_certs": ca}}
        client = tritonclient.http.InferenceServerClient(place["url"].partition("//")[2], **secure)
        module = tritonclient.http
    try:
        yield Stock(module, client, key, json)
    finally:
        client.close()
        client.close = lambda: None  # its end calls it again, in any thread, which gevent does not bear

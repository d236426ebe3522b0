"""A model on another server of the Open Inference Protocol (Triton, KServe, MLServer, MLflow), over HTTP with JSON."""

from __future__ import annotations

import hashlib
import json
import ssl
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.base import VERSION_DIGITS, Scorer, register
from privee.gateway.scorers.errors import scorer_error
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.net import is_loopback

MODELS = "/v2/models/"
AWAY = (429, 502, 503, 504)
ABOUT_ROWS = (400, 422, 500)
"""Answers that may depend on what was sent."""
DTYPES = {
    "FP32": np.float32,
    "FP64": np.float64,
    "FP16": np.float32,
    "INT64": np.int64,
    "INT32": np.int32,
    "BYTES": object,
}
FLOATS = ("FP16", "FP32", "FP64")
UNNAMED = {"name": "input-0", "datatype": "FP64", "shape": [-1, -1]}
"""What is sent to a server that does not say what it takes."""
CONNECTIONS = 16


@register
class Upstream(Scorer):
    """Asks another server; it must be the version that was there at the start."""

    name: ClassVar[str] = "upstream"
    words: ClassVar[str] = "a model on another server"
    threads: ClassVar[int] = CONNECTIONS
    by_blocks: ClassVar[bool] = False

    def __init__(self, address: str, client: httpx.Client, settings: ScorerSettings) -> None:
        self._address, self._client = address, client
        about = self._reply("GET", address)
        inputs = [one for one in about.get("inputs") or [] if isinstance(one, dict)]
        self._matrix = _matrix(inputs, settings.input)
        self._columns = [] if self._matrix else inputs
        if self._columns:
            self.names = tuple(str(one["name"]) for one in self._columns)
            self.features = len(self.names)
        elif self._matrix and (width := int(self._matrix["shape"][-1])) > 0:
            self.features = width
        self._output = _output([one for one in about.get("outputs") or [] if isinstance(one, dict)], settings.output)
        if self._output and len(shape := self._output.get("shape") or []) > 1 and int(shape[-1]) > 1:
            self.classes = tuple(map(str, range(int(shape[-1]))))
        versions = [str(one) for one in about.get("versions") or []]
        self._served: str | None = None
        self._said = [address, about.get("name"), versions, inputs, about.get("outputs")]
        self.version = _version(self._said)

    @classmethod
    def takes(cls, given: str) -> bool:
        """An address."""
        return "://" in given

    @classmethod
    def open(cls, settings: ScorerSettings, seconds: float) -> Self:
        """Ask it what it takes and gives."""
        address = settings.given.rstrip("/").removesuffix("/infer")
        parts = urlsplit(address)
        named = parts.path.partition(MODELS)[2]
        if parts.scheme not in ("http", "https") or not parts.hostname or not named or "@" in parts.netloc:
            raise SettingError("--scorer: a model on another server is https://host/v2/models/NAME")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise SettingError("--scorer: rows must not travel in the clear: give an https address, or this machine's")
        headers = {} if settings.token is None else {"authorization": f"Bearer {_token(settings)}"}
        limits = httpx.Limits(max_connections=CONNECTIONS)
        tls = ssl.create_default_context()
        client = httpx.Client(headers=headers, timeout=seconds, verify=tls, limits=limits, trust_env=False)
        try:
            return cls(address, client, settings)
        except BaseException:
            client.close()
            raise

    def outputs(self, rows: Rows) -> NDArray[Any]:
        """Send the rows, and read the scores."""
        asked: dict[str, Any] = {"inputs": self._inputs(rows)}
        if self._output:
            asked["outputs"] = [{"name": self._output["name"]}]
        reply = self._reply("POST", f"{self._address}/infer", asked)
        served = reply.get("model_version")
        if served is not None:
            if self._served is None:
                self._served = str(served)
                self.version = _version([*self._said, self._served])
            if str(served) != self._served:
                raise scorer_error("mismatch", "is another version than at the start: start the gateway again")
        wanted = self._output["name"] if self._output else None
        found = [one for one in reply["outputs"] if wanted in (None, one["name"]) and one["datatype"] in FLOATS]
        if len(found) != 1:
            raise SettingError("which output of the other server are the scores? Give --scorer-output NAME")
        return np.array(found[0]["data"], dtype=np.float64).reshape(found[0]["shape"])

    def check(self) -> None:
        """Whether it says that it is ready."""
        self._reply("GET", f"{self._address}/ready")

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _inputs(self, rows: Rows) -> list[dict[str, Any]]:
        if self._matrix:
            return [_tensor(self._matrix["name"], self._matrix["datatype"], rows.numbers)]
        return [
            _tensor(one["name"], one["datatype"], rows.values[:, place].reshape([-1, *[1] * (len(one["shape"]) - 1)]))
            for place, one in enumerate(self._columns)
        ]

    def _reply(self, method: str, address: str, body: Any = None) -> dict[str, Any]:
        """What the server says. Its words stay here: they may repeat what was sent."""
        try:
            answer = self._client.request(method, address, json=body)
        except httpx.TimeoutException:
            raise scorer_error("deadline", "did not answer in time") from None
        except (httpx.TransportError, OSError) as error:
            raise scorer_error("unreachable", f"cannot be reached ({type(error).__name__})") from None
        status = answer.status_code
        if status in AWAY:
            raise scorer_error("unreachable", f"cannot answer now (HTTP status {status})")
        if status in ABOUT_ROWS and method == "POST":
            raise PriveeError(f"HTTP status {status}")
        if status != 200:
            raise scorer_error("mismatch", f"is not there, or not for this gateway (HTTP status {status})")
        if not answer.content:  # of a health check
            return {}
        found = answer.json()
        return found if isinstance(found, dict) else {}


def _version(said: list[Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:VERSION_DIGITS]


def _tensor(name: str, datatype: str, values: NDArray[Any]) -> dict[str, Any]:
    data = values.astype(DTYPES[datatype]).ravel().tolist()
    return {"name": name, "shape": list(values.shape), "datatype": datatype, "data": data}


def _matrix(inputs: list[dict[str, Any]], wanted: str | None) -> dict[str, Any] | None:
    """The tensor that takes whole rows; None if there is one for each column."""
    strange = [one.get("datatype") for one in inputs if one.get("datatype") not in DTYPES]
    if strange:
        raise SettingError(f"the other server takes {strange[0]}; a scorer takes numbers and texts")
    if wanted is not None:
        return next((one for one in inputs if one["name"] == wanted), UNNAMED | {"name": wanted})
    if not inputs:
        return UNNAMED
    if len(inputs) == 1 and len(inputs[0]["shape"]) > 1 and inputs[0]["datatype"] != "BYTES":
        return inputs[0]
    return None


def _output(outputs: list[dict[str, Any]], wanted: str | None) -> dict[str, Any] | None:
    """The one that is named; else the only one of numbers with a column for each class."""
    if wanted is not None:
        return next((one for one in outputs if one["name"] == wanted), {"name": wanted})
    floats = [one for one in outputs if one.get("datatype") in FLOATS]
    if len(floats) > 1:
        names = ", ".join(str(one["name"]) for one in outputs)
        raise SettingError(f"which output of the other server are the scores? Give --scorer-output, one of {names}")
    return floats[0] if floats else None


def _token(settings: ScorerSettings) -> str:
    try:
        text = settings.token.read_text(encoding="ascii").strip() if settings.token else ""
    except (OSError, UnicodeDecodeError):
        raise SettingError(f"cannot read a token from {settings.token}") from None
    if not text or any(letter.isspace() for letter in text):
        raise SettingError(f"{settings.token} must hold one token, and nothing else")
    return text

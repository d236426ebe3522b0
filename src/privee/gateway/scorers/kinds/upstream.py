"""A model on another server of the Open Inference Protocol (Triton, KServe, MLServer, MLflow), over HTTP with JSON."""

from __future__ import annotations

import hashlib
import json
import ssl
from typing import Any, ClassVar, NoReturn, Self
from urllib.parse import urlsplit

import httpx
import numpy as np
from numpy.typing import NDArray

from privee.errors import PriveeError, SettingError
from privee.gateway.scorers.base import VERSION_DIGITS, Scorer, register
from privee.gateway.scorers.errors import ScorerError, scorer_error
from privee.gateway.scorers.metadata import (
    FLOATS,
    About,
    chosen_output,
    described,
    listed,
    names_of,
    no_scores,
    rows_at_once,
    whole_rows,
)
from privee.gateway.scorers.rows import Rows
from privee.gateway.scorers.settings import ScorerSettings
from privee.gateway.scorers.tensors import EXTENSION, HEAD_LENGTH, numbers_in, packed, unpacked
from privee.net import is_loopback

MODELS = "/v2/models/"
AWAY = (429, 502, 503, 504)
ABOUT_ROWS = (400, 422, 500)
"""Answers that may depend on what was sent."""
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
        self._inputs, self._outputs = described(about.get("inputs")), described(about.get("outputs"))
        self._matrix = whole_rows(self._inputs, settings.input)
        if self._matrix is None:
            self.names = tuple(one.name for one in self._inputs)
            self.features = len(self.names)
        elif self._matrix.shape[-1] > 0:
            self.features = self._matrix.shape[-1]
        self._output = chosen_output(self._outputs, settings.output)
        if self._output and len(shape := self._output.shape) > 1 and shape[-1] > 1:
            self.classes = tuple(map(str, range(shape[-1])))
        self._binary = EXTENSION in listed(self._extra(address.partition(MODELS)[0] + "/v2").get("extensions"))
        self._most = rows_at_once(self._matrix, self._extra(f"{address}/config").get("max_batch_size"))
        versions = [str(one) for one in listed(about.get("versions"))]
        self._served: str | None = None
        self._said = [address, about.get("name"), versions, about.get("inputs") or [], about.get("outputs")]
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
        """Send the rows, as many at once as it takes, and read the scores."""
        most = self._most or max(len(rows), 1)
        parts = [Rows(rows.names, rows.values[start : start + most]) for start in range(0, max(len(rows), 1), most)]
        return np.concatenate([self._scores(part) for part in parts])

    def _scores(self, rows: Rows) -> NDArray[Any]:
        wanted = self._output.name if self._output else None
        body, headers = packed(self._tensors(rows), wanted, binary=self._binary)
        reply = self._reply("POST", f"{self._address}/infer", body, headers)
        self._same_version(reply.get("model_version"))
        given = [one for one in reply["outputs"] if wanted in (None, one["name"])]
        found = [one for one in given if one["datatype"] in FLOATS]
        if len(found) != 1:
            raise no_scores(given or reply["outputs"])
        return numbers_in(found[0])

    def _same_version(self, served: Any) -> None:
        if served is not None:
            if self._served is None:
                self._served = str(served)
                self.version = _version([*self._said, self._served])
            if str(served) != self._served:
                raise scorer_error("mismatch", "is another version than at the start: start the gateway again")

    def check(self) -> None:
        """Whether it says that it is ready."""
        self._reply("GET", f"{self._address}/ready")

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _tensors(self, rows: Rows) -> list[tuple[About, NDArray[Any]]]:
        """Whole rows, or each column by its name; by its place where the table calls its columns otherwise."""
        if self._matrix:
            between = [1] * (len(self._matrix.shape) - 2)
            return [(self._matrix, rows.numbers.reshape([len(rows), *between, len(rows.names)]))]
        names = rows.names if set(rows.names) == set(self.names or ()) else self.names or ()
        columns = dict(zip(names, rows.values.T, strict=True))
        return [(one, columns[one.name].reshape([-1, *[1] * (len(one.shape) - 1)])) for one in self._inputs]

    def _reply(self, method: str, address: str, body: bytes | None = None, headers: Any = None) -> dict[str, Any]:
        """What the server says. Its words stay here: they may repeat what was sent."""
        try:
            answer = self._client.request(method, address, content=body, headers=headers)
        except httpx.TimeoutException:
            raise scorer_error("deadline", "did not answer in time") from None
        except (httpx.TransportError, OSError) as error:
            raise scorer_error("unreachable", f"cannot be reached ({type(error).__name__})") from None
        if answer.status_code != 200:
            self._refused(method, answer.status_code)
        if not answer.content:  # of a health check
            return {}
        try:
            return unpacked(answer.content, answer.headers.get(HEAD_LENGTH))
        except ValueError:
            if method == "POST":
                raise PriveeError("its server answers with what is no JSON") from None
            raise scorer_error("mismatch", "has no server of the Open Inference Protocol there") from None

    def _refused(self, method: str, status: int) -> NoReturn:
        if status in AWAY:
            raise scorer_error("unreachable", f"cannot answer now (HTTP status {status})")
        if status in ABOUT_ROWS and method == "POST":
            takes, gives = names_of(self._inputs), names_of(self._outputs)
            raise PriveeError(
                f"its server answers with HTTP status {status}; it says that it takes {takes} and gives {gives}: see "
                "--scorer-input, --scorer-output and --columns"
            )
        raise scorer_error("mismatch", f"is not there, or not for this gateway (HTTP status {status})")

    def _extra(self, address: str) -> dict[str, Any]:
        """What not every server tells; nothing, where it does not."""
        try:
            return self._reply("GET", address)
        except ScorerError:
            return {}


def _version(said: list[Any]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:VERSION_DIGITS]


def _token(settings: ScorerSettings) -> str:
    try:
        text = settings.token.read_text(encoding="ascii").strip() if settings.token else ""
    except (OSError, UnicodeDecodeError):
        raise SettingError(f"cannot read a token from {settings.token}") from None
    if not text or any(letter.isspace() for letter in text):
        raise SettingError(f"{settings.token} must hold one token, and nothing else")
    return text

"""The only part that touches the network: httpx, once with and once without await.

A client sends its key over TLS or to this machine, and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
import time
from os import PathLike
from pathlib import Path
from types import ModuleType
from typing import Any

from privee.client.calls import Call
from privee.client.plan import Failure, Outcome, Plan, Result
from privee.client.replies import Reply
from privee.errors import PriveeError, SettingError
from privee.extras import needed
from privee.net import is_loopback
from privee.version import __version__

Verify = bool | str | PathLike[str]


def load_httpx() -> ModuleType:
    """The optional package, or one line that says how to get it."""
    found: ModuleType = needed("httpx", "httpx", extra="client", what="the client")
    return found


def options(url: str, key: str | None, *, timeout: float, verify: Verify, allow_plain: bool) -> dict[str, Any]:
    """Settings for httpx.Client or httpx.AsyncClient."""
    if isinstance(timeout, bool) or not 0 < timeout <= 3600:
        raise SettingError("timeout must be above 0 and at most 3600 seconds")
    address = check_address(url, allow_plain=allow_plain)
    secured = address.startswith("https:")
    return {
        "base_url": address,
        "headers": {"authorization": f"Bearer {check_api_key(key)}", "user-agent": f"privee/{__version__}"},
        "timeout": timeout,
        "verify": _context(verify) if secured else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts nobody, and fast
        "follow_redirects": False,
        "trust_env": secured,  # else HTTP_PROXY would have the key sent to the proxy, in the clear
    }


def follow(client: Any, plan: Plan[Result]) -> Result:
    """Do what a plan says, and give its result."""
    outcome: Outcome = None
    while True:
        try:
            step = plan.send(outcome)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if isinstance(step, Call):
            outcome = _send(client, step)
        else:
            time.sleep(step)
            outcome = None


async def follow_async(client: Any, plan: Plan[Result]) -> Result:
    """The same with await."""
    outcome: Outcome = None
    while True:
        try:
            step = plan.send(outcome)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if isinstance(step, Call):
            outcome = await _send_async(client, step)
        else:
            await asyncio.sleep(step)
            outcome = None


def _send(client: Any, call: Call[Any]) -> Reply | Failure:
    httpx = load_httpx()
    try:
        return _reply(client.request(call.method, call.path, **_sent(call)))
    except httpx.RequestError as error:
        return failure_of(error)


async def _send_async(client: Any, call: Call[Any]) -> Reply | Failure:
    httpx = load_httpx()
    try:
        return _reply(await client.request(call.method, call.path, **_sent(call)))
    except httpx.RequestError as error:
        return failure_of(error)


def failure_of(error: Exception) -> Failure:
    """Whether the request may have arrived; the words are ours, because those of an error may quote anything."""
    httpx = load_httpx()
    if isinstance(error, httpx.ConnectError) and _is_tls(error):
        return Failure(
            "tls", "the gateway's certificate is not trusted, or for another name, or it speaks no TLS: see `verify`"
        )
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol | httpx.ProxyError):
        return Failure("unsent", "the gateway cannot be reached")
    if isinstance(error, httpx.PoolTimeout):
        return Failure("unsent", "too many requests are under way in this client")
    timed_out = isinstance(error, httpx.TimeoutException)
    return Failure("lost", "no answer came in time" if timed_out else "the connection was lost")


def _is_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _sent(call: Call[Any]) -> dict[str, Any]:
    return {"headers": call.headers(), "content": call.content()}


def _reply(response: Any) -> Reply:
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, response.content)


def _context(verify: Verify) -> ssl.SSLContext:
    if verify is True:
        return ssl.create_default_context()
    if verify is False:
        raise SettingError(
            "certificates are always checked: give verify=CA.PEM, the file that `privee certs init` made"
        )
    try:
        return ssl.create_default_context(cafile=str(Path(verify)))
    except (OSError, ssl.SSLError):
        raise PriveeError(f"cannot read certificates from {verify}") from None


KEY_VARIABLE = "PRIVEE_API_KEY"
# Narrow on purpose: two readers of an odd address may disagree about its host, and the key goes to the second one's.
_ADDRESS = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~-]+)*/?", re.ASCII
)
_KEY = re.compile(r"[!-~]{8,512}", re.ASCII)


def check_address(url: str, *, allow_plain: bool = False) -> str:
    """The gateway's address without a last slash; refuses plain HTTP to another machine."""
    found = _ADDRESS.fullmatch(url.strip())
    if found is None:
        raise SettingError("the gateway's address must be like https://gateway.example:8443, without user, query or #")
    if found["scheme"] == "http" and not allow_plain and not is_loopback(found["host"]):
        raise PriveeError(
            "refused to send an API key over plain http to another machine: use https, or allow_plain=True "
            "on a network you trust"
        )
    return found[0].rstrip("/")


def check_api_key(key: str | None) -> str:
    """The given key, or that of the environment; what is wrong with it is said without showing it."""
    given = os.environ.get(KEY_VARIABLE, "") if key is None else key
    if not given:
        raise PriveeError(f"give an API key: Client(url, key), or the environment variable {KEY_VARIABLE}")
    if not _KEY.fullmatch(given.strip()):
        raise PriveeError("the API key has characters that no key has; copy it again from `privee keys create`")
    return given.strip()

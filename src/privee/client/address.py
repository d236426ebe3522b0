"""Where a client may send its key: over TLS, or to this machine."""

from __future__ import annotations

import ipaddress
import os
import re

from privee.errors import PriveeError, SettingError

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


def is_loopback(host: str) -> bool:
    """Whether this host never leaves the machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

"""Network addresses, and which of them never leave the machine."""

from __future__ import annotations

import ipaddress
from typing import NamedTuple

from privee.errors import PriveeError


class Address(NamedTuple):
    """A host, by name or number, and a port."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> Address:
        """From `host:port`; an IPv6 number stands in brackets.

        Example:
            >>> Address.parse("[::1]:7001")
            Address(host='::1', port=7001)
        """
        host, colon, port = text.rpartition(":")
        bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
        bracketed = bare != host
        good_port = port.isascii() and port.isdigit() and len(port) <= 5 and int(port) <= 65535
        if not colon or not bare or not good_port or (":" in bare) != bracketed or any(c.isspace() for c in bare):
            raise PriveeError(f"an address is written HOST:PORT, such as 127.0.0.1:7001 or [::1]:7001; got {text!r}")
        return cls(bare, int(port))

    @property
    def loopback(self) -> bool:
        """Whether it stays on this machine."""
        return is_loopback(self.host)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether this host, by name or number, never leaves the machine.

    Example:
        >>> is_loopback("127.8.9.1"), is_loopback("[::1]"), is_loopback("LOCALHOST"), is_loopback("0.0.0.0")
        (True, True, True, False)
    """
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def require_loopback(address: Address, advice: str) -> None:
    """Without TLS nothing may leave the machine."""
    if not address.loopback:
        raise PriveeError(f"{address} is not a loopback address, so TLS is needed: {advice}")

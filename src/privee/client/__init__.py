"""A Python client for the gateway: `privee.Client(url, key)` and `privee.AsyncClient(url, key)`.

It needs httpx (`pip install 'privee[client]'`), which is looked for here and loaded when a client is made.
"""

from privee.extras import require

require("privee.client", "httpx", extra="client")

from privee.client.async_client import AsyncClient
from privee.client.client import Client
from privee.client.errors import (
    GatewayError,
    GatewayUnavailable,
    NotAllowed,
    PartyFailed,
    QuotaReached,
    RateLimited,
    Refused,
    UnknownEntity,
    VariantsReached,
)
from privee.client.replies import NewKey, Quote, Release

__all__ = [
    "AsyncClient",
    "Client",
    "GatewayError",
    "GatewayUnavailable",
    "NewKey",
    "NotAllowed",
    "PartyFailed",
    "QuotaReached",
    "Quote",
    "RateLimited",
    "Refused",
    "Release",
    "UnknownEntity",
    "VariantsReached",
]

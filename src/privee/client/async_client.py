"""`privee.AsyncClient`: the same methods as `privee.Client`, awaited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from privee.client import calls
from privee.client.plan import Plan, Result
from privee.client.replies import NewKey, Quote, Release
from privee.client.session import ClientSession
from privee.client.transport import Verify, follow_async, load_httpx, options

if TYPE_CHECKING:
    import httpx


class AsyncClient:
    """A gateway, asked with one API key from an event loop. Arguments and methods are those of `Client`, awaited.

    Example:
        async with AsyncClient("http://127.0.0.1:8080", key, model="risk") as client:
            first, second = await asyncio.gather(client.infer("17"), client.infer("42"))
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        model: str | None = None,
        timeout: float = 10.0,
        verify: Verify = True,
        retries: int = 2,
        allow_plain: bool = False,
    ) -> None:
        self._session = ClientSession(model, retries)
        given = options(url, key, timeout=timeout, verify=verify, allow_plain=allow_plain)
        self._http: httpx.AsyncClient = load_httpx().AsyncClient(**given)
        self.keys = AsyncKeys(self)

    async def infer(self, entities: calls.Entities, columns: ArrayLike | None = None) -> Release:
        return await self._run(self._session.infer(entities, columns))

    async def price(self, entities: calls.Entities) -> Quote:
        return await self._run(self._session.price(entities))

    async def ready(self) -> bool:
        return await self._run(self._session.ready())

    async def model(self) -> dict[str, Any]:
        return await self._run(self._session.metadata())

    async def spent(self, entity: str | int) -> dict[str, Any]:
        return await self._run(self._session.plain(calls.spent(entity)))

    async def totals(self) -> dict[str, Any]:
        return await self._run(self._session.plain(calls.totals()))

    async def chain(self) -> dict[str, Any]:
        return await self._run(self._session.plain(calls.chain()))

    async def log(self, last: int = 50) -> list[dict[str, Any]]:
        return await self._run(self._session.plain(calls.log(last)))

    async def reset(self, entity: str | int, *, reason: str) -> dict[str, Any]:
        return await self._run(self._session.plain(calls.reset(entity, reason)))

    async def reset_many(
        self,
        entities: Sequence[str | int] | None = None,
        *,
        key_id: str | None = None,
        since: int | None = None,
        reason: str,
    ) -> int:
        return await self._run(self._session.plain(calls.reset_many(entities, key_id, since, reason)))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._http.base_url)!r}, model={self._session.model!r})"

    async def _run(self, plan: Plan[Result]) -> Result:
        return await follow_async(self._http, plan)


class AsyncKeys:
    """API keys of the gateway (administrators); methods are those of `Keys`, awaited."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client

    async def list(self) -> list[dict[str, Any]]:
        return await self._client._run(self._client._session.plain(calls.list_keys()))

    async def create(
        self,
        name: str,
        *,
        role: str = "consumer",
        scopes: Sequence[str] | None = None,
        rate: str | None = None,
        expires_days: int | None = None,
        quotas: Mapping[str, Any] | None = None,
    ) -> NewKey:
        wanted = {"role": role, "rate": rate, "expires_days": expires_days, "quotas": quotas}
        call = calls.create_key(name, scopes=scopes, **wanted)
        return await self._client._run(self._client._session.plain(call))

    async def set_quotas(self, key_id: str, *, reason: str, **quotas: Any) -> dict[str, Any]:
        return await self._client._run(self._client._session.plain(calls.set_quotas(key_id, reason, quotas)))

    async def revoke(self, key_id: str, *, reason: str) -> dict[str, Any]:
        return await self._client._run(self._client._session.plain(calls.revoke_key(key_id, reason)))

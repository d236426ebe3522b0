"""FastAPI and Starlette: releases in a service of your own, counted in a ledger before they leave.

A dependency gives each request an object whose `release` charges and releases; a hook replaces a field of a response.
Refusals are HTTP errors with one line, as the gateway's are: 429 by the ledger, 401 and 403 by the key, 503 if the
ledger cannot be written.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import os
import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from privee.extras import require

require("privee.adapters.fastapi", "fastapi", "sqlalchemy", "httpx", extra="gateway")

import numpy as np
from numpy.typing import NDArray
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from privee.client import Release
from privee.client.replies import make_release
from privee.defenses import Defense
from privee.defenses import defense as make_defense
from privee.defenses.secret_keys import read_key
from privee.durable.database import LedgerUnavailableError, is_sqlite
from privee.errors import PriveeError, SettingError
from privee.gateway.budget.price import Price
from privee.gateway.http.access import NO_KEY, Access, allow, allow_model
from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.ledger import ChargeRequest, Ledger, Receipt, RefusedError
from privee.gateway.ledger.limits import limits_for

__all__ = ["Protected", "Protector"]

INJECTED = "privee_request"
POSTGRESQL_WRITERS = 4
UNKNOWN = "5000/day"
NOT_SCORES = "the service has no scores that could be released"
Endpoint = TypeVar("Endpoint", bound=Callable[..., Any])


class Protector:
    """A defense with a ledger. Made once for an application; `Depends(protect)` gives a `Protected` for each request.

    Args:
        defense: a defense, or a spec such as "ordered-dp:epsilon=1".
        classes: how many the model has.
        ledger: its database, made with `privee ledger init`.
        key: the file with its key.
        model: a name; with `keys`, what a key must be scoped to.
        version: of the model; part of each question where variants are limited.
        keys: True: whoever asks must bring a consumer's key of this ledger (`privee keys create`), as to a gateway.
        who: otherwise, from a request to who asks (at most 64 plain characters), such as your own user's id; for the
            ledger's list. None: everybody is "service".
        window: seconds after which counting starts anew.
        variants: with how many different columns an entity may be asked about, ever; None: any number.
        limits: of the budget policies, such as `epsilon=10` or `releases=20`: see `privee gateway serve --help`.
    """

    def __init__(
        self,
        defense: Defense | str,
        *,
        classes: int,
        ledger: str,
        key: str | os.PathLike[str],
        model: str = "model",
        version: str = "",
        keys: bool = False,
        who: Callable[[Request], str] | None = None,
        window: int | None = None,
        variants: int | None = None,
        **limits: Any,
    ) -> None:
        self.defense = make_defense(defense) if isinstance(defense, str) else defense
        if keys and who is not None:
            raise SettingError("keys say who asks: leave out `who`, or `keys`")
        allowed = limits_for(self.defense, classes, window=window, variants=variants, **limits)
        self.classes, self.model, self.version, self._who = classes, model, version, who
        self.price, self.pinned = Price.of(self.defense, classes), variants is not None
        self.ledger = Ledger.open(ledger, read_key(key), limits=allowed)
        writers = 1 if is_sqlite(self.ledger.engine) else POSTGRESQL_WRITERS
        self._counter = GroupCommit(self.ledger, writers=writers)
        store = KeyStore(self.ledger.engine, self.ledger.chain_key, self.ledger.now)
        self._access = Access(store, self._counter.read, unknown=UNKNOWN) if keys else None

    async def __call__(self, request: Request) -> Protected:
        """Who asks, and a way to release: the dependency."""
        return Protected(self, await self._asker(request))

    def replaces(self, field: str, *, entities: str) -> Callable[[Endpoint], Endpoint]:
        """A hook: of what an endpoint returns, this field's scores are replaced by their release.

        Stands below the route's own decorator. What is returned may be a dict, a model of pydantic or a JSONResponse.
        Without both fields nothing is answered. Other fields leave as they are.

        Args:
            field: holds scores, one row for each entity.
            entities: the field with their ids.
        """

        def decorate(endpoint: Endpoint) -> Endpoint:
            signature = inspect.signature(endpoint, eval_str=True)
            own = next((name for name, one in signature.parameters.items() if one.annotation is Request), None)
            own = own or ("request" if "request" in signature.parameters else None)

            @functools.wraps(endpoint)
            async def hooked(*args: Any, **kwargs: Any) -> Any:
                request = kwargs.pop(INJECTED) if own is None else kwargs[own] if own in kwargs else args[0]
                protected = await self(request)
                if inspect.iscoroutinefunction(endpoint):
                    found = await endpoint(*args, **kwargs)
                else:
                    found = await run_in_threadpool(endpoint, *args, **kwargs)
                return await _replaced(found, field, entities, protected)

            if own is None:
                more = inspect.Parameter(INJECTED, inspect.Parameter.KEYWORD_ONLY, annotation=Request)
                signature = signature.replace(parameters=[*signature.parameters.values(), more])
            hooked.__signature__ = signature  # type: ignore[attr-defined]
            return hooked  # type: ignore[return-value]

        return decorate

    @asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """For the application: what is under way is finished before the ledger is closed."""
        yield
        await self.close()

    async def close(self) -> None:
        """Finish what is under way and close the ledger."""
        await self._counter.close()

    async def charge(self, ask: ChargeRequest) -> Receipt:
        """Durable when it returns."""
        with _told():
            return await self._counter.charge(ask)

    async def _asker(self, request: Request) -> str:
        if self._access is None:
            return "service" if self._who is None else self._who(request)
        kind, _, text = request.headers.get("authorization", "").partition(" ")
        with _told():
            record = await self._access.find(text.strip()) if kind.lower() == "bearer" else None
            if record is None:
                raise NO_KEY
            self._access.count(record)
            allow(record, "consumer")
            allow_model(record, self.model)
        return record.id


class Protected:
    """For one request: releases to whoever asks."""

    def __init__(self, protector: Protector, who: str) -> None:
        self._protector, self.who = protector, who

    async def release(self, entities: str | Sequence[str], scores: Any, *, columns: Any = None) -> Release:
        """Releases in place of scores, once the ledger has them on disk; `remaining` and `charged` are attributes.

        Args:
            entities: ids, one for each row of scores; for one vector, one id.
            scores: (n, classes), or one vector.
            columns: where variants are limited: what whoever asks put in, a row of numbers for each entity.

        Raises:
            HTTPException: 429 if some entity has given away all it may; then nothing was counted.
        """
        ask = self._ask(entities, columns)
        try:
            made = await asyncio.to_thread(self._made, entities, scores)
        except Exception:
            # Whether scores can be released tells something about them, so a failure is counted too.
            await self._protector.charge(ask)
            raise HTTPException(500, NOT_SCORES) from None
        return self._released(made, await self._protector.charge(ask))

    def release_now(self, entities: str | Sequence[str], scores: Any, *, columns: Any = None) -> Release:
        """The same for endpoints that are no coroutines."""
        ask, ledger = self._ask(entities, columns), self._protector.ledger
        try:
            made = self._made(entities, scores)
        except Exception:
            with _told():
                ledger.charge(ask)
            raise HTTPException(500, NOT_SCORES) from None
        with _told():
            return self._released(made, ledger.charge(ask))

    def _ask(self, entities: str | Sequence[str], columns: Any) -> ChargeRequest:
        ids = [entities] if isinstance(entities, str) else list(entities)
        protector, questions = self._protector, None
        if protector.pinned:
            questions = _questions(protector.version, columns, len(ids))
        with _told():
            _check_entities(ids)
            return ChargeRequest(ids, protector.price, self.who, secrets.token_hex(16), questions=questions)

    def _made(self, entities: str | Sequence[str], scores: Any) -> NDArray[np.float64]:
        given = np.asarray(scores, dtype=np.float64)
        rows = given[None] if isinstance(entities, str) and given.ndim == 1 else given
        count = 1 if isinstance(entities, str) else len(entities)
        if rows.shape != (count, self._protector.classes):
            raise PriveeError("there must be one row of scores for each entity, and one score for each class")
        made: NDArray[Any] = self._protector.defense.release(rows)
        return made.reshape(given.shape)

    def _released(self, made: NDArray[np.float64], receipt: Receipt) -> Release:
        about = {"remaining": receipt.remaining, "charged": receipt.charged, "release_id": receipt.release_id}
        defense = self._protector.defense.spec
        return make_release(made, **about, defense=defense, model_version=self._protector.version)


class _told:  # noqa: N801  # a context manager, used like a function
    """What ledger and keys raise, as HTTP errors of one line."""

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: Any) -> None:
        if isinstance(error, RefusedError):
            wait = {} if error.retry_after is None else {"retry-after": str(max(error.retry_after, 1))}
            raise HTTPException(429, str(error), {"x-privee-code": error.code} | wait) from None
        if isinstance(error, DeniedError):
            raise HTTPException(error.status, error.words, {"x-privee-code": error.code} | error.headers) from None
        if isinstance(error, LedgerUnavailableError):
            raise HTTPException(
                503, f"{error}; nothing was released", {"x-privee-code": "ledger-unavailable"}
            ) from None
        if isinstance(error, PriveeError):
            raise HTTPException(400, str(error), {"x-privee-code": "bad-request"}) from None


def _check_entities(ids: Sequence[str]) -> None:
    """All that have no id would be counted as one entity."""
    if not ids:
        raise PriveeError("no entity was asked about")
    if "" in ids:
        raise PriveeError(f"the id of the entity at position {ids.index('')} is empty")


def _questions(version: str, columns: Any, count: int) -> list[bytes]:
    if columns is None:
        raise SettingError("variants are limited: give release() the columns that were put in, one row per entity")
    rows = np.asarray(columns, dtype=np.float64).reshape(count, -1) + 0.0  # -0 counts as 0
    return [version.encode() + b"\0" + row.tobytes() for row in rows]


async def _replaced(found: Any, field: str, entities: str, protected: Protected) -> Any:
    """The answer with the release in place of the scores; nothing where it is not as it should be."""
    plain = json.loads(bytes(found.body)) if isinstance(found, JSONResponse) else found
    plain = plain.model_dump() if hasattr(plain, "model_dump") else plain
    if isinstance(found, Response) and found.status_code >= 400 and isinstance(plain, dict) and field not in plain:
        return found  # the endpoint's own refusal
    if not isinstance(plain, dict) or field not in plain or entities not in plain:
        raise HTTPException(500, f"nothing was released: the answer has no {field!r} and {entities!r}")
    ids = plain[entities]
    if not isinstance(ids, str | int | Iterable):
        raise HTTPException(500, f"nothing was released: {entities!r} holds no ids")
    known = str(ids) if isinstance(ids, str | int) else [str(one) for one in ids]
    release = await protected.release(known, plain[field])
    answer = plain | {field: np.asarray(release).tolist()}
    if not isinstance(found, JSONResponse):
        return answer
    kept = {name: value for name, value in found.headers.items() if name not in ("content-length", "content-type")}
    return JSONResponse(answer, found.status_code, kept, background=found.background)

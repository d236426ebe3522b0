"""`privee.Client`: a gateway's methods, one request at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike

from privee.client import calls
from privee.client.plan import Plan, Result
from privee.client.replies import NewKey, Quote, Release
from privee.client.session import ClientSession
from privee.client.transport import Verify, follow, load_httpx, options

if TYPE_CHECKING:
    import httpx


class Client:
    """A gateway, asked with one API key. Close it, or use it in a `with` block; threads may share it.

    Args:
        url: such as "https://gateway.example:8443"; plain http only to this machine.
        key: an API key; by default that of the environment variable PRIVEE_API_KEY.
        model: by default the only one that the gateway serves.
        timeout: seconds to connect, and to wait for an answer; for each attempt.
        verify: True for the system's certificates, or the file ca.pem of `privee certs init`.
        retries: more attempts, made only where the first cannot have been charged.
        allow_plain: send the key over plain http to another machine, where every machine between can read it.

    Example:
        with Client("http://127.0.0.1:8080", key, model="risk") as client:
            release = client.infer(["17", "42"])
            print(release.argmax(axis=1), release.remaining)
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
        self._http: httpx.Client = load_httpx().Client(**given)
        self.keys = Keys(self)

    def infer(self, entities: calls.Entities, columns: ArrayLike | None = None) -> Release:
        """Releases for these entities, one each: (n, K), or (K,) for a single one. All are counted, or none.

        Args:
            entities: ids as text or whole numbers; an iterable of them, or one alone.
            columns: the active party's own columns for them, in place of its stored ones.

        Raises:
            Refused: some entity has given away all it may.
            UnknownEntity: there is no joint record of some entity.
            PartyFailed: a party did not answer.
            RateLimited: this key asks too often.
            NotAllowed: this key may not ask that.
            GatewayUnavailable: no answer; its `maybe_counted` says whether the ledger may have counted.
        """
        return self._run(self._session.infer(entities, columns))

    def price(self, entities: calls.Entities) -> Quote:
        """What releases for these entities would cost now; costs nothing itself."""
        return self._run(self._session.price(entities))

    def ready(self) -> bool:
        """Whether the gateway, its ledger and its parties can answer."""
        return self._run(self._session.ready())

    def model(self) -> dict[str, Any]:
        """What the model takes and gives, its defense and its guarantee; releases carry class names from then on."""
        return self._run(self._session.metadata())

    def spent(self, entity: str | int) -> dict[str, Any]:
        """What an entity has given away (auditors)."""
        return self._run(self._session.plain(calls.spent(entity)))

    def totals(self) -> dict[str, Any]:
        """What was asked so far, and what each entity is allowed (auditors).

        `releases` and `refusals` are requests that were answered and refused; `released_entities` are the releases in
        them, one for each entity of each request, and `charged` those that were charged.
        """
        return self._run(self._session.plain(calls.totals()))

    def chain(self) -> dict[str, Any]:
        """Whether the log of administrative acts is unbroken (auditors)."""
        return self._run(self._session.plain(calls.chain()))

    def log(self, last: int = 50) -> list[dict[str, Any]]:
        """The latest administrative acts (auditors)."""
        return self._run(self._session.plain(calls.log(last)))

    def reset(self, entity: str | int, *, reason: str) -> dict[str, Any]:
        """Let an entity be asked about again; what it gave away is not taken back (administrators)."""
        return self._run(self._session.plain(calls.reset(entity, reason)))

    def reset_many(
        self,
        entities: Sequence[str | int] | None = None,
        *,
        key_id: str | None = None,
        since: int | None = None,
        reason: str,
    ) -> int:
        """The same for many, or for all that a key was charged for since a time, all or none; tells how many."""
        return self._run(self._session.plain(calls.reset_many(entities, key_id, since, reason)))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self._http.base_url)!r}, model={self._session.model!r})"

    def _run(self, plan: Plan[Result]) -> Result:
        return follow(self._http, plan)


class Keys:
    """API keys of the gateway (administrators)."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def list(self) -> list[dict[str, Any]]:
        """All keys, without their secrets."""
        return self._client._run(self._client._session.plain(calls.list_keys()))

    def create(
        self,
        name: str,
        *,
        role: str = "consumer",
        scopes: Sequence[str] | None = None,
        rate: str | None = None,
        expires_days: int | None = None,
        quotas: Mapping[str, Any] | None = None,
    ) -> NewKey:
        """Make a key; `.text` is to be had only now. What is left out is up to the gateway.

        `quotas`: such as {"releases": "1000/day", "entities": "500/day", "share": 0.5}; "none" is no quota.
        """
        wanted = {"role": role, "rate": rate, "expires_days": expires_days, "quotas": quotas}
        call = calls.create_key(name, scopes=scopes, **wanted)
        return self._client._run(self._client._session.plain(call))

    def set_quotas(self, key_id: str, *, reason: str, **quotas: Any) -> dict[str, Any]:
        """Change quotas (`releases`, `entities`, `share`); what is not given stays, "none" takes one away."""
        return self._client._run(self._client._session.plain(calls.set_quotas(key_id, reason, quotas)))

    def revoke(self, key_id: str, *, reason: str) -> dict[str, Any]:
        """Revoke a key, for good."""
        return self._client._run(self._client._session.plain(calls.revoke_key(key_id, reason)))

"""Who may ask: API keys. A key's text is shown once; the database holds a hash of its secret part."""

from __future__ import annotations

import dataclasses
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

import limits
import sqlalchemy as sa

from privee.durable.audit_chain import REASON, append, check_text
from privee.durable.clock import MonotonicClock
from privee.durable.database import clear_errors
from privee.errors import PriveeError, SettingError
from privee.gateway.ledger.quotas import FOR_CONSUMERS, UNLIMITED, Quotas
from privee.gateway.ledger.schema import api_keys, quotas

Role = Literal["consumer", "auditor", "administrator"]
ROLES: tuple[Role, ...] = get_args(Role)
DEFAULT_RATE = "100/minute"
EVERY_MODEL = "*"
LONGEST_LIFE = 100 * 366 * 86400
NAME, SCOPE, SCOPES, RATE = 128, 128, 100, 64  # longest texts, and how many scopes
_TEXT = re.compile(r"privee_([0-9a-f]{8})_([A-Za-z0-9_-]{43})", re.ASCII)


class KeyRecord(NamedTuple):
    """What is known about a key; times are whole seconds since 1970. Neither its secret nor the hash is in it."""

    id: str
    name: str
    role: Role
    scopes: tuple[str, ...]
    rate: str
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    quotas: Quotas = UNLIMITED

    def covers(self, model: str) -> bool:
        """Whether that model is among those this key is for; what its role may do is asked beside it."""
        return not {model, EVERY_MODEL}.isdisjoint(self.scopes)

    def state(self, now: float) -> Literal["active", "expired", "revoked"]:
        """Only an active key is found."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return self._asdict() | {"scopes": list(self.scopes), "quotas": self.quotas.as_dict()}


class IssuedKey(NamedTuple):
    """A key that was just made. `text` is what its owner sends, and is to be had only now."""

    record: KeyRecord
    text: str

    def __repr__(self) -> str:
        return f"NewKey(record={self.record!r}, text=<not shown>)"


@dataclasses.dataclass(frozen=True)
class Wanted:
    """A key to be made: checked, and with blanks around its texts removed.

    Args:
        name: whose key it is, for people.
        role: consumer (predictions), auditor (ledger and metrics) or administrator (keys and resets).
        scopes: names of models, or "*" for all. A consumer must name some; other roles, to which nothing is released,
            have all by default.
        rate: requests per time, such as "100/minute" or "5/second;100/hour".
        expires_in: seconds; None is never.
        quotas: what it may use up; None is 1000 releases a day for a consumer, and none for roles that get no releases.
    """

    name: str
    role: Role
    scopes: Sequence[str] = ()
    rate: str = DEFAULT_RATE
    expires_in: int | None = None
    quotas: Quotas | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise SettingError(f"a key's role must be one of {', '.join(ROLES)}")
        if self.expires_in is not None and not 0 < self.expires_in <= LONGEST_LIFE:
            raise SettingError("a key must expire between a second and a hundred years from now, or never")
        object.__setattr__(self, "name", check_text(self.name, "a key's name", NAME))
        object.__setattr__(self, "scopes", _check_scopes(self.role, self.scopes))
        object.__setattr__(self, "rate", check_rate(self.rate))
        if self.quotas is None:
            object.__setattr__(self, "quotas", default_quotas(self.role))


class KeyStore:
    """The keys of one ledger.

    Args:
        engine: connections to the ledger's database.
        chain_key: the audit chain's key, `Ledger.chain_key`.
        clock: seconds since 1970; best `Ledger.now`, so that a clock set back does not revive expired keys.
    """

    def __init__(self, engine: sa.Engine, chain_key: bytes, clock: Callable[[], float] | None = None) -> None:
        self._engine, self._chain_key, self._clock = engine, chain_key, clock or MonotonicClock().now
        self._reading = engine.execution_options(reads=True)  # takes no write lock

    def create(
        self,
        name: str,
        role: Role,
        scopes: Sequence[str] = (),
        rate: str = DEFAULT_RATE,
        *,
        actor: str,
        expires_in: int | None = None,
        quotas: Quotas | None = None,
    ) -> IssuedKey:
        """Make a key, see `Wanted`. An administrative act."""
        wanted = Wanted(name, role, scopes, rate, expires_in, quotas)
        with clear_errors(), self._engine.begin() as connection:
            return create_key(connection, self._chain_key, wanted, actor=actor, now=int(self._clock()))

    def revoke(self, key_id: str, reason: str, *, actor: str) -> KeyRecord:
        """From now on this key is not found. An administrative act."""
        with clear_errors(), self._engine.begin() as connection:
            return revoke_key(connection, self._chain_key, key_id, reason, actor=actor, now=int(self._clock()))

    def set_quotas(self, key_id: str, reason: str, *, actor: str, **wishes: Any) -> KeyRecord:
        """Change a key's quotas, see `Quotas.changed`; what it has used stays counted. An administrative act."""
        with clear_errors(), self._engine.begin() as connection:
            return set_quotas(connection, self._chain_key, key_id, wishes, reason, actor=actor, now=int(self._clock()))

    def find(self, text: str) -> KeyRecord | None:
        """The active key with this text."""
        with clear_errors(), self._reading.connect() as connection:
            return find_key(connection, text, int(self._clock()))

    def list(self) -> tuple[KeyRecord, ...]:
        """All keys, expired and revoked ones too, oldest first."""
        with clear_errors(), self._reading.connect() as connection:
            rows = connection.execute(_SELECT.order_by(api_keys.c.created_at, api_keys.c.id))
            return tuple(map(_record, rows.mappings()))


def create_key(connection: sa.Connection, chain_key: bytes, wanted: Wanted, *, actor: str, now: int) -> IssuedKey:
    """Store a new key and log it, in the caller's transaction."""
    expires = None if wanted.expires_in is None else now + wanted.expires_in
    scopes = tuple(wanted.scopes)
    given = (wanted.name, wanted.role, scopes, wanted.rate, now, expires, None, wanted.quotas or UNLIMITED)
    record = KeyRecord(_free_id(connection), *given)
    secret = secrets.token_urlsafe(32)
    row = record._asdict() | {"scopes": json.dumps(scopes), "secret_hash": _hash(secret)}
    del row["quotas"]
    connection.execute(sa.insert(api_keys).values(row))
    if record.quotas != UNLIMITED:
        _store_quotas(connection, record.id, record.quotas)
    told = {"name": record.name, "role": record.role, "scopes": scopes, "rate": record.rate, "expires_at": expires}
    details = told | {"quotas": record.quotas.as_dict()}
    append(connection, chain_key, at=now, actor=actor, act="key.create", subject=record.id, reason="", details=details)
    return IssuedKey(record, f"privee_{record.id}_{secret}")


def revoke_key(
    connection: sa.Connection, chain_key: bytes, key_id: str, reason: str, *, actor: str, now: int
) -> KeyRecord:
    """Revoke a key and log it, in the caller's transaction."""
    reason = check_text(reason, "the reason", REASON)
    check_id(key_id)
    held = sa.update(api_keys).where(api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))
    if connection.execute(held.values(revoked_at=now)).rowcount == 0:
        raise PriveeError(f"no key with the id {key_id} is left to revoke; `privee keys list` shows all")
    append(connection, chain_key, at=now, actor=actor, act="key.revoke", subject=key_id, reason=reason, details={})
    return _record(connection.execute(_SELECT.where(api_keys.c.id == key_id)).mappings().one())


def set_quotas(
    connection: sa.Connection,
    chain_key: bytes,
    key_id: str,
    wishes: Mapping[str, Any],
    reason: str,
    *,
    actor: str,
    now: int,
) -> KeyRecord:
    """Change a key's quotas and log it, in the caller's transaction."""
    reason = check_text(reason, "the reason", REASON)
    query = _SELECT.where(api_keys.c.id == check_id(key_id)).with_for_update(of=api_keys)
    row = connection.execute(query).mappings().one_or_none()
    if row is None or row["revoked_at"] is not None:
        raise PriveeError(f"no key with the id {key_id} is in use; `privee keys list` shows all")
    before = _record(row)
    after = before.quotas.changed(**wishes)
    if after == before.quotas:
        raise PriveeError(f"that changes nothing: the quotas of key {key_id} are {before.quotas}")
    changed = connection.execute(sa.update(quotas).where(quotas.c.key_id == key_id).values(after.columns()))
    if changed.rowcount == 0:
        _store_quotas(connection, key_id, after)
    details = {"before": before.quotas.as_dict(), "after": after.as_dict()}
    append(connection, chain_key, at=now, actor=actor, act="key.quota", subject=key_id, reason=reason, details=details)
    return before._replace(quotas=after)


def default_quotas(role: Role) -> Quotas:
    """Of a new key; roles that get no releases need none."""
    return FOR_CONSUMERS if role == "consumer" else UNLIMITED


def check_id(key_id: str) -> str:
    """A key's id; it may be a whole key, pasted by mistake, and is not repeated then."""
    if not re.fullmatch(r"[0-9a-f]{8}", key_id):
        raise PriveeError("a key's id has 8 hexadecimal digits; `privee keys list` shows it")
    return key_id


def find_key(connection: sa.Connection, text: str, now: int) -> KeyRecord | None:
    """The active key with this text. How much of a secret is right does not show in the time; ids are no secret."""
    match = _TEXT.fullmatch(text)
    key_id, secret = match.groups() if match else ("", "")
    rows = connection.execute(_SELECT.where(api_keys.c.id == key_id))
    row = rows.mappings().one_or_none() or _NOBODY
    same = hmac.compare_digest(_hash(secret), row["secret_hash"])
    record = _record(row)
    active = record.state(now) == "active"
    return record if same and active and record.id else None


_SELECT = sa.select(api_keys, *(quotas.c[name].label(f"quota_{name}") for name in UNLIMITED.columns())).outerjoin_from(
    api_keys, quotas, quotas.c.key_id == api_keys.c.id
)
_NOBODY: Mapping[str, Any] = KeyRecord("", "", "consumer", (), "", 0, None, None)._asdict() | {
    "scopes": "[]",
    "secret_hash": bytes(32),
    **{f"quota_{name}": None for name in UNLIMITED.columns()},
}


def _record(row: Any) -> KeyRecord:
    values = {name: row[name] for name in KeyRecord._fields if name != "quotas"}
    return KeyRecord(**values | {"scopes": tuple(json.loads(row["scopes"])), "quotas": Quotas.of_row(row)})


def _store_quotas(connection: sa.Connection, key_id: str, wanted: Quotas) -> None:
    unused = dict.fromkeys(("used_releases", "releases_since", "used_entities", "entities_since"), 0)
    connection.execute(sa.insert(quotas).values(key_id=key_id, **wanted.columns(), **unused))


def _hash(secret: str) -> bytes:
    """Fast on purpose: there is nothing to guess in 256 random bits, unlike in a password."""
    return hashlib.sha256(secret.encode()).digest()


def _free_id(connection: sa.Connection) -> str:
    while True:
        key_id = secrets.token_hex(4)
        if connection.execute(sa.select(api_keys.c.id).where(api_keys.c.id == key_id)).first() is None:
            return key_id


def _check_scopes(role: Role, scopes: Sequence[str]) -> tuple[str, ...]:
    if isinstance(scopes, str) or len(scopes) > SCOPES:
        raise SettingError(f"scopes must be a list of at most {SCOPES} models")
    if role == "consumer" and not scopes:
        raise SettingError("a consumer's key needs a scope: the name of a model it may ask, or * for every model")
    return tuple(dict.fromkeys(check_text(scope, "a scope", SCOPE) for scope in scopes or [EVERY_MODEL]))


def check_rate(rate: str) -> str:
    """Requests per time as `limits` reads them."""
    rate = check_text(rate, "a rate", RATE)
    try:
        ok = all(item.amount > 0 for item in limits.parse_many(rate))
    except ValueError:
        ok = False
    if not ok:
        raise SettingError('a rate must be like "100/minute" or "5/second;100/hour", and at least 1')
    return rate

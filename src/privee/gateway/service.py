"""Everything behind the HTTP routes: the model, who answers for it, its defense, the ledger and its keys."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

from privee.defenses import Repeatable
from privee.defenses.secret_keys import read_key
from privee.durable.audit_chain import Chain
from privee.durable.database import is_sqlite
from privee.gateway.audit_report import AuditReport, read_audit
from privee.gateway.budget.price import Price
from privee.gateway.call_log import CallLog
from privee.gateway.channel.party_channel import PartyHealth
from privee.gateway.inference import Inference
from privee.gateway.joint_source import open_joint
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.ledger import Ledger, LedgerUnavailableError
from privee.gateway.ledger.limits import limits_for
from privee.gateway.ledger.secrets import subkey
from privee.gateway.score_source import Opened, ServedModel
from privee.gateway.scorers.opening import open_scored
from privee.gateway.settings import GatewaySettings

Result = TypeVar("Result")
HEALTH_SECONDS = 1.0
POSTGRESQL_WRITERS = 4


@dataclasses.dataclass(frozen=True)
class Health:
    """Whether the gateway can answer, and who cannot; `scored` says that a scorer stands where parties would."""

    ledger: bool
    parties: Mapping[str, PartyHealth]
    scored: bool = False

    @property
    def ready(self) -> bool:
        """Whether all parts work."""
        return self.ledger and all(party.reachable for party in self.parties.values())

    @property
    def status(self) -> int:
        """As HTTP says it."""
        return 200 if self.ready else 503

    def problem(self) -> dict[str, str]:
        """Who is to blame, in one line."""
        away = [name for name, party in self.parties.items() if not party.reachable]
        words = ([] if self.ledger else ["the ledger cannot be read"]) + [
            f"{self.called(name)} does not answer" for name in away
        ]
        return {"error": "; ".join(words), "code": "not-ready"}

    def called(self, name: str) -> str:
        """A party, or what stands in its place, in words."""
        return f"the {name}" if self.scored else f"party {name}"


class Service:
    """Opened by `open_service`; `start` and `close` belong to the event loop that serves it."""

    def __init__(
        self,
        settings: GatewaySettings,
        opened: Opened,
        ledger: Ledger,
        key: bytes,
        audit: AuditReport | None = None,
    ) -> None:
        self.settings, self.ledger, self.audit = settings, ledger, audit
        self.model: ServedModel = opened.model
        self.spec = settings.defense.spec  # in every answer, and worked out anew whenever it is asked for
        self.keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        self._chain = Chain(ledger.engine, ledger.chain_key)
        self._counter = GroupCommit(ledger, writers=1 if is_sqlite(ledger.engine) else POSTGRESQL_WRITERS)
        self._calls = CallLog(self._counter)
        self._key, self._opened = key, opened
        self._health: tuple[float, Health] | None = None
        self._looking: asyncio.Task[Health] | None = None
        self.inference: Inference

    async def start(self) -> None:
        """Begin to answer."""
        source = self._opened.source(self._calls)
        defense, repeatable = self.settings.defense, None
        if self.settings.repeatable:
            draws = subkey(self._key, "repeatable draws")
            repeatable = Repeatable(defense, key=draws, model_version=self.model.version)
        self.inference = Inference(
            model=self.model,
            source=source,
            defense=defense,
            price=Price.of(defense, len(self.model.classes)),
            counter=self._counter if self.settings.counted else None,
            repeatable=repeatable,
        )

    async def close(self) -> None:
        """Finish what is under way."""
        if self._looking is not None:
            self._looking.cancel()
        await self.inference.source.close()
        await self._calls.close()
        await self._counter.close()

    def discard(self) -> None:
        """Let go of everything where it was never started."""
        self._opened.discard()
        self.ledger.close()

    async def read(self, work: Callable[..., Result], *args: Any) -> Result:
        """Run a blocking call on a thread of the ledger's."""
        return await self._counter.read(work, *args)

    async def health(self) -> Health:
        """How the ledger and those who answer are, asked at most once a second, and once for all who wait for it."""
        if self._health is not None and time.monotonic() - self._health[0] <= HEALTH_SECONDS:
            return self._health[1]
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> Health:
        try:
            parties = await self.inference.source.health()
            health = Health(await self.read(self._ledger_up), parties, bool(self.model.scorer))
            self._health = (time.monotonic(), health)
            return health
        finally:
            self._looking = None

    async def most_values(self) -> int:
        """Values that a query may hold: entities, their columns (the source knows how many), some around them."""
        if self.inference.source.features is None:
            await self.health()  # the first contact
        return self.settings.max_entities * (2 + (self.inference.source.features or 0)) + 1024

    def about(self) -> dict[str, Any]:
        """Defense, guarantee and what the model is worth, in plain values."""
        guarantee, worth = self.settings.defense.guarantee(len(self.model.classes)), self.model.worth
        return {
            "defense": self.settings.defense.spec,
            "preserves_order": self.settings.defense.preserves_order,
            "proven": guarantee.proven,
            "repeatable": self.settings.repeatable,
            "counted": self.settings.counted,
            **({"variants": variants} if self.settings.counted and (variants := self.ledger.limits.variants) else {}),
            "classes": json.dumps(self.model.classes, ensure_ascii=False),
            **({} if worth is None else {"utility": json.dumps(worth.in_brief())}),
            **({"scorer": scorer} if (scorer := self.model.scorer) else {}),
            **({"sealed": json.dumps(sealed)} if (sealed := self.model.sealed) else {}),
            **({"embedding_defenses": json.dumps(found)} if (found := self.model.embedding_specs) else {}),
        }

    # What follows blocks: call it through `read`.

    def totals(self) -> dict[str, Any]:
        """Counts so far, and what each entity is allowed."""
        limits = self.ledger.limits
        allowed = limits.as_dict() | ({} if limits.variants is None else {"variants": limits.variants})
        return dataclasses.asdict(self.ledger.totals()) | {"limits": allowed}

    def spending(self, entity: str) -> dict[str, Any]:
        """What one entity has given away."""
        return dataclasses.asdict(self.ledger.spent(entity))

    def chain(self) -> dict[str, Any]:
        """Whether the audit chain is unbroken."""
        return dataclasses.asdict(self._chain.verify())

    def acts(self, last: int) -> list[dict[str, Any]]:
        """The latest administrative acts."""
        return [entry.as_dict() for entry in self._chain.entries(last)]

    def acts_before(self, seq: int, count: int) -> list[dict[str, Any]]:
        """Administrative acts with smaller numbers, the newest first."""
        return [entry.as_dict() for entry in self._chain.entries_before(seq, count)]

    def _ledger_up(self) -> bool:
        try:
            self.ledger.ping()
        except LedgerUnavailableError:
            return False
        return True


def open_service(settings: GatewaySettings) -> Service:
    """Check and open everything; errors come before any port is bound."""
    torch.set_num_threads(1)  # small tops gain nothing from threads, and wait for each other under load
    opened = _open(settings)
    try:
        model = opened.model
        audit = None if settings.audit is None else read_audit(settings.audit)
        key = read_key(settings.ledger_key)
        allowed = {"window": settings.window, "variants": settings.most_variants(model.all_sealed), **settings.budget}
        limits = limits_for(settings.defense, len(model.classes), **allowed)
        ledger = Ledger.open(settings.ledger_url, key, limits=limits)
    except BaseException:
        opened.discard()
        raise
    return Service(settings, opened, ledger, key, audit)


def _open(settings: GatewaySettings) -> Opened:
    if settings.run is not None:
        return open_joint(settings, settings.run)
    assert settings.scorer is not None  # noqa: S101  # the settings see to it
    return open_scored(settings, settings.scorer)

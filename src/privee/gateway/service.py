"""Everything behind the HTTP routes: the model, its parties, its defense, the ledger and its keys."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import json
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch

from privee.defenses import Repeatable
from privee.defenses.secret_keys import read_key
from privee.durable.audit_chain import Chain
from privee.durable.database import is_sqlite
from privee.errors import SettingError
from privee.gateway.audit_report import AuditReport, read_audit
from privee.gateway.budget.price import Price
from privee.gateway.call_log import CallLog
from privee.gateway.channel.party_channel import PartyChannel, PartyHealth, PartyTimeouts
from privee.gateway.coordinator_model import CoordinatorModel, load_coordinator_model
from privee.gateway.inference import Inference
from privee.gateway.ledger.api_keys import KeyStore
from privee.gateway.ledger.group_commit import GroupCommit
from privee.gateway.ledger.ledger import Ledger, LedgerUnavailableError
from privee.gateway.ledger.limits import limits_for
from privee.gateway.ledger.secrets import subkey
from privee.gateway.local_party import open_local_party
from privee.gateway.settings import GatewaySettings
from privee.party.server import PartyHandler
from privee.pki.identity import TlsFiles
from privee.vfl.seal.code_column import CodeColumn
from privee.vfl.seal.handed_over import read_handed_over

Result = TypeVar("Result")
HEALTH_SECONDS = 1.0
POSTGRESQL_WRITERS = 4


@dataclasses.dataclass(frozen=True)
class Health:
    """Whether the gateway can answer, and who cannot."""

    ledger: bool
    parties: Mapping[str, PartyHealth]

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
            f"party {name} does not answer" for name in away
        ]
        return {"error": "; ".join(words), "code": "not-ready"}


class Service:
    """Opened by `open_service`; `start` and `close` belong to the event loop that serves it."""

    def __init__(
        self,
        settings: GatewaySettings,
        model: CoordinatorModel,
        ledger: Ledger,
        key: bytes,
        audit: AuditReport | None = None,
        columns: Mapping[str, CodeColumn] | None = None,
        local: PartyHandler | None = None,
    ) -> None:
        self.settings, self.model, self.ledger, self.audit = settings, model, ledger, audit
        self.keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        self._chain = Chain(ledger.engine, ledger.chain_key)
        self._tls = None if settings.certs is None else TlsFiles.from_folder(settings.certs / "coordinator")
        self._counter = GroupCommit(ledger, writers=1 if is_sqlite(ledger.engine) else POSTGRESQL_WRITERS)
        self._calls = CallLog(self._counter)
        self._key, self._columns, self._local = key, columns or {}, local
        self._health: tuple[float, Health] | None = None
        self._looking: asyncio.Task[Health] | None = None
        self.inference: Inference

    async def start(self) -> None:
        """Open the ways to the parties."""
        channel = PartyChannel(
            # The active party first.
            {name: self.settings.parties[name] for name in self.model.parties if name in self.settings.parties},
            self._tls,
            timeouts=PartyTimeouts(deadline=self.settings.deadline),
            max_batch=self.settings.max_entities,
            expected_weights=self.model.weights,
            columns=self._columns,
            local=self._local,
            calls=self._calls,
        )
        defense, repeatable = self.settings.defense, None
        if self.settings.repeatable:
            draws = subkey(self._key, "repeatable draws")
            repeatable = Repeatable(defense, key=draws, model_version=self.model.version)
        self.inference = Inference(
            model=self.model,
            channel=channel,
            defense=defense,
            price=Price.of(defense, len(self.model.classes)),
            counter=self._counter if self.settings.counted else None,
            repeatable=repeatable,
        )

    async def close(self) -> None:
        """Finish what is under way."""
        if self._looking is not None:
            self._looking.cancel()
        await self.inference.channel.close()
        await self._calls.close()
        await self._counter.close()

    def discard(self) -> None:
        """Let go of everything where it was never started."""
        if self._local is not None:
            self._local.close()
        self.ledger.close()

    async def read(self, work: Callable[..., Result], *args: Any) -> Result:
        """Run a blocking call on a thread of the ledger's."""
        return await self._counter.read(work, *args)

    async def health(self) -> Health:
        """How ledger and parties are, asked at most once a second, and once for all who wait for the answer."""
        if self._health is not None and time.monotonic() - self._health[0] <= HEALTH_SECONDS:
            return self._health[1]
        if self._looking is None:
            self._looking = asyncio.get_running_loop().create_task(self._look())
        return await asyncio.shield(self._looking)

    async def _look(self) -> Health:
        try:
            parties = await self.inference.channel.health()
            health = Health(await self.read(self._ledger_up), parties)
            self._health = (time.monotonic(), health)
            return health
        finally:
            self._looking = None

    async def most_values(self) -> int:
        """Values that a query may hold: entities, their columns (the active party knows how many), some around them."""
        if self.inference.channel.features is None:
            await self.health()  # the first contact
        return self.settings.max_entities * (2 + (self.inference.channel.features or 0)) + 1024

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
    model = load_coordinator_model(settings.run, settings.name)
    columns = _handed_over(settings, model)
    given = [*settings.parties, *settings.codes, *settings.local]
    missing = [name for name in model.parties if name not in given]
    if missing:
        raise SettingError(f"where does party {missing[0]} listen? add --party {missing[0]}=HOST:PORT")
    strange = [name for name in given if name not in model.parties]
    if strange:
        raise SettingError(f"this model has no party {strange[0]!r}; its parties are {', '.join(model.parties)}")
    audit = None if settings.audit is None else read_audit(settings.audit)
    key = read_key(settings.ledger_key)
    allowed = {"window": settings.window, "variants": settings.most_variants(model.all_sealed), **settings.budget}
    limits = limits_for(settings.defense, len(model.classes), **allowed)
    ledger = Ledger.open(settings.ledger_url, key, limits=limits)
    try:
        local = open_local_party(settings.local, settings.run, model)
    except BaseException:
        ledger.close()
        raise
    return Service(settings, model, ledger, key, audit, columns, local)


def _handed_over(settings: GatewaySettings, model: CoordinatorModel) -> dict[str, CodeColumn]:
    """Codes that were handed over must be of nobody who is asked too."""
    ways = {"--party": settings.parties, "--codes": settings.codes, "--local": settings.local}
    for (one, first), (other, second) in itertools.combinations(ways.items(), 2):
        if both := [name for name in first if name in second]:
            raise SettingError(f"party {both[0]} is given with {one} and with {other}; one of the two")
    return read_handed_over(settings.codes, model.weights, model.seals)

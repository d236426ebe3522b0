"""The gateway's settings, checked before anything is opened."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from privee import traces
from privee.defenses import Defense
from privee.errors import SettingError
from privee.gateway.budget.base import budget_options
from privee.gateway.ledger.api_keys import check_rate
from privee.gateway.scorers.settings import ScorerSettings
from privee.net import is_loopback
from privee.party.wire import MAX_ENTITIES

MIB = 1 << 20
MOST_WORKERS = 64

_BudgetSettings: Any = dataclasses.make_dataclass(
    "_BudgetSettings",
    [(option.name, option.kind | None, option.default) for option in budget_options()],
    frozen=True,
    kw_only=True,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GatewaySettings(_BudgetSettings):  # type: ignore[misc]  # made of what the policies say
    """How a model is served. Every option of a budget policy is a setting too: what the ledger allows each entity.

    Attributes:
        run: the saved run; only its config and the coordinator's folder are read. None with a scorer.
        scorer: a model that stands alone, in place of a run and its parties.
        parties: where each party listens, "host:port" by name.
        defense: what turns scores into a release.
        ledger_url: database of counts and keys.
        ledger_key: file with the ledger's secret key.
        name: of the model in addresses; the run folder's by default.
        certs: folder of `privee certs init` with the coordinator's certificate; None for plain parties on loopback.
        repeatable: keyed draws: an identical query is answered identically and not charged.
        counted: False answers without counting; for experiments alone.
        window: seconds after which an entity's count starts anew; None: never.
        variants: how many different questions there may be about one entity, ever: other columns of the active
            party's are another; None: any number. Usual is 1, and any number where all passive parties are sealed.
        deadline: seconds for the parties to answer, retries included.
        host, port: where to listen; port 0 picks a free one.
        grpc_port: where to serve gRPC too, on the same host and with the same certificate; None: nowhere.
        tls: serve HTTPS with the coordinator's certificate; None: wherever the address is not loopback.
        max_body: largest request in bytes.
        max_entities: most entities in one request.
        unknown: how many ids without a joint record one key may ask about, per time.
        audit: what `privee audit` wrote about this model, for auditors to look at: its folder, or its report.html.
        codes: of sealed parties that have handed their codes over (`privee party export-codes`), the file of each.
        local: the active party by name, if its table is read in this process, and where its table or settings are.
        workers: processes behind the one address, on the one ledger.
        traces: a collector's address that OpenTelemetry's spans are sent to; None: nothing is traced.
    """

    run: Path | None = None
    scorer: ScorerSettings | None = None
    parties: Mapping[str, str] = dataclasses.field(default_factory=dict)
    defense: Defense
    ledger_url: str
    ledger_key: Path
    name: str | None = None
    certs: Path | None = None
    repeatable: bool = False
    counted: bool = True
    window: int | None = None
    variants: int | Literal["usual"] | None = "usual"
    deadline: float = 2.0
    host: str = "127.0.0.1"
    port: int = 8080
    tls: bool | None = None
    max_body: int = 4 * MIB
    max_entities: int = 4096
    unknown: str = "5000/day"
    audit: Path | None = None
    codes: Mapping[str, Path] = dataclasses.field(default_factory=dict)
    workers: int = 1
    local: Mapping[str, str] = dataclasses.field(default_factory=dict)
    grpc_port: int | None = None
    traces: str | None = None

    def __post_init__(self) -> None:
        if (self.run is None) == (self.scorer is None):
            raise SettingError("give a run folder, or --scorer for a model that stands alone; one of the two")
        if self.scorer is not None and (self.parties or self.codes or self.local):
            raise SettingError("--party, --codes and --local are a joint model's; one that stands alone has no parties")
        if not 0 < self.deadline <= 600:
            raise SettingError("the deadline must be above 0 and at most 600 seconds")
        if self.max_body < 1024 or not 1 <= self.max_entities <= MAX_ENTITIES:
            raise SettingError(f"a request must be allowed 1024 bytes at least, and 1 to {MAX_ENTITIES} entities")
        if not 1 <= self.workers <= MOST_WORKERS:
            raise SettingError(f"there are 1 to {MOST_WORKERS} workers")
        if self.grpc_port is not None and (not 0 <= self.grpc_port <= 65535 or self.grpc_port == self.port != 0):
            raise SettingError("the gRPC port must lie between 0 and 65535, and not be that of HTTP")
        check_rate(self.unknown)
        if self.traces is not None:
            traces.check(self.traces)
        usual = self.variants is None or self.variants == "usual"
        if not usual and (type(self.variants) is not int or self.variants < 1):
            raise SettingError("variants must be a whole number from 1 on, or None for any number")
        if not self.secured and not is_loopback(self.host):
            raise SettingError(
                f"{self.host} is not a loopback address, and API keys must not travel in the clear: "
                "give --certs (see privee certs init), or listen on 127.0.0.1"
            )
        if self.secured and self.certs is None:
            raise SettingError("HTTPS needs --certs, the folder that privee certs init made")

    def most_variants(self, all_sealed: bool) -> int | None:
        """How many different questions there may be about one entity, by whether all passive parties are sealed."""
        if self.variants == "usual":
            return None if all_sealed else 1
        return self.variants

    @property
    def budget(self) -> dict[str, Any]:
        """The options of the budget policies."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(_BudgetSettings)}

    @property
    def secured(self) -> bool:
        """Whether HTTP goes over TLS."""
        return self.tls if self.tls is not None else self.certs is not None and not is_loopback(self.host)

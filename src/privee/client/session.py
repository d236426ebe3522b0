"""What a client remembers between requests, and the plan of each of its methods."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from numpy.typing import ArrayLike

from privee.client import calls
from privee.client.errors import GatewayUnavailable
from privee.client.plan import UNAVAILABLE, Plan, exchange
from privee.client.replies import Quote, Release
from privee.errors import PriveeError, SettingError

MOST_RETRIES = 10


@dataclasses.dataclass
class ClientSession:
    """One client's settings; `known_classes` by model version, once they were asked for."""

    model: str | None
    retries: int
    known_classes: tuple[str, tuple[str, ...]] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.retries, bool) or not 0 <= self.retries <= MOST_RETRIES:
            raise SettingError(f"retries must be 0 to {MOST_RETRIES}")

    def infer(self, entities: calls.Entities, columns: ArrayLike | None) -> Plan[Release]:
        """Releases, with the names of their columns where they are known."""
        asked = calls.query(entities, columns)
        name = yield from self._name()
        release = yield from exchange(calls.infer(name, asked), self.retries)
        version, classes = self.known_classes or ("", ())
        if version == release.model_version and len(classes) == release.shape[-1]:
            release.classes = classes
        return release

    def price(self, entities: calls.Entities) -> Plan[Quote]:
        """What a query would cost."""
        asked = calls.query(entities)
        name = yield from self._name()
        return (yield from exchange(calls.price(name, asked), self.retries))

    def metadata(self) -> Plan[dict[str, Any]]:
        """What the model takes and gives."""
        name = yield from self._name()
        found = yield from exchange(calls.metadata(name), self.retries)
        self.known_classes = _classes(found)
        return found

    def ready(self) -> Plan[bool]:
        """Whether the gateway can answer; one that is not there, or hangs, cannot."""
        try:
            return (yield from exchange(calls.health(), 0))
        except GatewayUnavailable as error:
            if error.code in {"unsent", "lost"} or error.status in UNAVAILABLE:
                return False
            raise

    def plain(self, call: calls.Call[calls.Result]) -> Plan[calls.Result]:
        """A call that needs nothing else."""
        return exchange(call, self.retries)

    def _name(self) -> Plan[str]:
        if self.model is None:
            about = yield from exchange(calls.server(), self.retries)
            served = about.get("models")
            if not isinstance(served, list) or len(served) != 1:
                raise PriveeError("which model? give its name: Client(url, key, model=NAME)")
            self.model = str(served[0])
        return self.model


def _classes(metadata: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
    """Version and class names; None if the answer leaves them out."""
    try:
        return str(metadata["versions"][-1]), tuple(map(str, json.loads(metadata["parameters"]["classes"])))
    except (LookupError, TypeError, ValueError):
        return None

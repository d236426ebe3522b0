"""A gateway for tests: a tiny trained run, certificates, two real party processes and a real gateway process."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from privee.gateway.demo import MODEL, PARTIES, World, make_world, running
from privee.processes import ServerProcess

DEFENSE = ("--defense", "privee-u:rho=0.1")


class Running:
    """A world whose processes run; `url` is the gateway's address."""

    model = MODEL

    def __init__(self, world: World, gateway: ServerProcess, parties: dict[str, ServerProcess]) -> None:
        self.world, self.gateway, self.parties = world, gateway, parties
        self.url: str = gateway.ready["url"]
        self.ledger_url, self.ledger_key = world.ledger_url, world.ledger_key
        self.addresses = {name: party.ready["address"] for name, party in parties.items()}
        self._keys: dict[str, str] = {}

    def key(self, role: str) -> str:
        """An API key of this role; the same one every time."""
        if role not in self._keys:
            self._keys[role] = self.world.api_key(role)
        return self._keys[role]

    def client(self, role: str = "consumer", **options) -> httpx.Client:
        return httpx.Client(base_url=self.url, headers={"Authorization": f"Bearer {self.key(role)}"}, **options)

    def stop_party(self, name: str) -> None:
        self.parties[name].stop()

    def start_party(self, name: str) -> None:
        """Start a stopped party again, where it was."""
        process = self.world.party(name, listen=self.addresses[name])
        self.parties[name] = process.wait_ready()

    @property
    def log(self) -> str:
        return (self.world.folder / "gateway.log").read_text()


def body(*entities: str, **more) -> dict:
    """The protocol's request for some entities."""
    return {
        "inputs": [{"name": "entities", "shape": [len(entities)], "datatype": "BYTES", "data": list(entities)}]
    } | more


def infer(client: httpx.Client, *entities: str, **more) -> httpx.Response:
    return client.post(f"/v2/models/{MODEL}/infer", json=body(*entities, **more))


@contextlib.contextmanager
def gateway_world(folder: Path, *options: str, model: str = "logistic") -> Iterator[Running]:
    """Everything, ready; `options` are those of `privee gateway serve` (PRIVEE-U unless a defense is among them)."""
    folder.mkdir(parents=True, exist_ok=True)
    world = make_world(folder, model=model, epochs=3)
    with running(world, _with_defense(options)) as (gateway, parties):
        found = Running(world, gateway, parties)
        try:
            yield found
        finally:
            for party in found.parties.values():
                party.stop()


def _with_defense(options: Sequence[str]) -> tuple[str, ...]:
    return tuple(options) if {"-d", "--defense"} & set(options) else (*DEFENSE, *options)


__all__ = ["MODEL", "PARTIES", "Running", "body", "gateway_world", "infer"]

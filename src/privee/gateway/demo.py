"""The gateway on bundled data: a coordinator and two parties as separate processes, with certificates and keys."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from privee.data.datasets import load_dataset
from privee.defenses.secret_keys import read_key
from privee.durable.private_files import key_file
from privee.gateway.ledger.api_keys import KeyStore, Role
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.quotas import UNLIMITED, Quotas
from privee.pki.certificates import init_certificates
from privee.processes import ServerProcess, start_party
from privee.vfl.experiment import partition_of, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.runs import RunFolder
from privee.vfl.training import TrainingSettings

MODEL = "digits"
"""Name of the run's folder, hence of the model."""
PARTIES = ("active", "passive-1")
DEFENSE = ("--defense", "ordered-dp:epsilon=1", "--epsilon", "10")
SEED = 1
Say = Callable[[str], None]


@dataclasses.dataclass(frozen=True)
class World:
    """All that a gateway needs, in one folder: a trained run, certificates, a ledger and its key."""

    folder: Path

    @property
    def run(self) -> Path:
        """The trained run's folder."""
        return self.folder / MODEL

    @property
    def parties(self) -> tuple[str, ...]:
        """Their names, the active one first."""
        return tuple(RunFolder.open(self.run).config["parties"])

    @property
    def certs(self) -> Path:
        """Certificates of the coordinator and the parties."""
        return self.folder / "certs"

    @property
    def ledger_url(self) -> str:
        """The embedded database."""
        return f"sqlite:///{self.folder / 'ledger.db'}"

    @property
    def ledger_key(self) -> Path:
        """The ledger's secret key."""
        return self.folder / "ledger.key"

    def api_key(
        self,
        role: Role,
        *,
        name: str = "demo",
        rate: str = "100000/minute",
        url: str | None = None,
        quotas: Quotas | None = UNLIMITED,
    ) -> str:
        """A new key for this role; `quotas` None are those that any new key has."""
        with Ledger.open(url or self.ledger_url, read_key(self.ledger_key), limits=Limits()) as ledger:
            keys = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
            return keys.create(name, role, ["*"], rate, actor="demo", quotas=quotas).text

    def party(self, name: str, listen: str = "127.0.0.1:0") -> ServerProcess:
        """Start one party."""
        folder, log = self.run / "parties" / name, self.folder / f"{name}.log"
        return start_party(folder, ["--data", "dataset"], self.certs / name, log, listen=listen)

    def gateway(
        self, addresses: dict[str, str], options: Sequence[str], *, name: str = "gateway", url: str | None = None
    ) -> ServerProcess:
        """Start a gateway on parties that listen."""
        parties = [word for party, address in addresses.items() for word in ("--party", f"{party}={address}")]
        ledger = ["--ledger", url or self.ledger_url, "--ledger-key", str(self.ledger_key)]
        given = ["--certs", str(self.certs), "--port", "0", *options]
        arguments = ["gateway", "serve", str(self.run), *parties, *ledger, *given]
        return ServerProcess(arguments, self.folder / f"{name}.ready", self.folder / f"{name}.log")


def make_world(
    folder: Path, say: Say = lambda words: None, *, model: str = "logistic", epochs: int = 30, parties: int = 2
) -> World:
    """Train, make certificates and a ledger; what is there already is kept."""
    world = World(folder)
    if not world.run.exists():
        say(f"training a joint model of {parties} parties on bundled digits")
        dataset = load_dataset("digits", seed=SEED)
        partition = partition_of(dataset, parties=parties, adversary_fraction=None, how="random", seed=SEED)
        settings = TrainingSettings(epochs=epochs, learning_rate=0.02, seed=SEED)
        train_run(world.run, from_dataset(dataset, partition), model, settings)
    say("making certificates, a ledger and its key")
    init_certificates(world.certs, world.parties, ["localhost", "127.0.0.1"])
    with key_file(world.ledger_key):
        Ledger.create(world.ledger_url, read_key(world.ledger_key))
    return world


@contextmanager
def running(
    world: World, options: Sequence[str] = DEFENSE, say: Say = lambda words: None
) -> Iterator[tuple[ServerProcess, dict[str, ServerProcess]]]:
    """All parties and a gateway, ready; all end with the block."""
    say(f"starting the parties {' and '.join(world.parties)}")
    with running_parties(world, world.parties) as parties:
        say("starting the gateway")
        gateway = world.gateway({name: process.address for name, process in parties.items()}, options)
        try:
            yield gateway.wait_ready(), parties
        finally:
            gateway.stop()


@contextmanager
def running_parties(world: World, names: Sequence[str]) -> Iterator[dict[str, ServerProcess]]:
    """Some of the parties, ready; they end with the block."""
    with ExitStack() as stack:
        parties = {name: world.party(name) for name in names}
        for process in parties.values():
            stack.callback(process.stop)
        yield {name: process.wait_ready() for name, process in parties.items()}

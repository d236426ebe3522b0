"""A folder with all that a gateway and its parties need: certificates, a ledger with its key, API keys, and scripts.

What cannot be made twice (certificates, ledger, keys) is made once; scripts are written anew.
"""

from __future__ import annotations

import dataclasses
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from privee.atomic import private_folder, whole_file
from privee.defenses import Defense
from privee.defenses.secret_keys import read_key
from privee.durable.private_files import key_file
from privee.durable.whole_numbers import UNIT
from privee.gateway.ledger.api_keys import KeyStore, Role
from privee.gateway.ledger.ledger import Ledger
from privee.gateway.ledger.limits import Limits, limits_for
from privee.party.ledger.terms import SealTerms
from privee.pki.certificates import init_certificates
from privee.vfl.seal.settings import Seal

HOST = "127.0.0.1"
KEPT = ("--ledger", "sqlite:///ledger.db", "--ledger-key", "ledger.key", "--certs", "certs")
BEGIN = '#!/bin/sh\n# {what}\ncd "$(dirname "$0")" || exit 1\n'
START = """pids=""
trap 'kill $pids 2>/dev/null' EXIT
trap 'exit 143' INT TERM
for party in {parties}; do
    rm -f "$party.ready"
    sh "$party.sh" --ready-file "$party.ready" &
    pids="$pids $!"
    while [ ! -e "$party.ready" ]; do
        kill -0 $! 2>/dev/null || exit 1
        sleep 0.2
    done
done
sh gateway.sh --ready-file gateway.ready &
pids="$pids $!"
wait $!
"""
ASK = """: "${{1:?name a record: sh ask.sh ID}}"
curl -s {url}/v2/models/{model}/infer -H "Authorization: Bearer $(cat consumer.key)" \\
    -H 'Content-Type: application/json' \\
    -d '{{"inputs": [{{"name": "entities", "shape": [1], "datatype": "BYTES", "data": ["'"$1"'"]}}]}}'
"""


@dataclasses.dataclass(frozen=True)
class PartyCodes:
    """What a sealed party may give away of a record in its life, which it counts by itself.

    Attributes:
        seal: of its part of the model.
        most: how many codes, over all models that it serves.
    """

    seal: Seal
    most: int = 1

    @property
    def told(self) -> str:
        """For people."""
        times = "ever" if self.most == 1 else f"{self.most} times in its life at most"
        return f": one of {self.seal.codes} codes per record, {times}, counted in a ledger of its own"

    def options(self, party: str) -> tuple[str, ...]:
        """Of `privee party serve`. The ledger is beside the script, so that later models share it."""
        cost = SealTerms("0" * 64, self.seal.codes, self.seal.epsilon).cost()
        limits = ("--ledger", f"{party}-ledger.db", "--bits", _decimal(self.most * cost.bits))
        return limits if self.seal.epsilon is None else (*limits, "--epsilon", _decimal(self.most * cost.epsilon))


def write_service(
    folder: Path,
    *,
    run: Path,
    audit: Path,
    files: Mapping[str, Path],
    name: str,
    defense: Defense,
    n_classes: int,
    releases: int | None,
    port: int,
    codes: Mapping[str, PartyCodes] | None = None,
) -> None:
    """Make what is not there yet, and write the scripts.

    Args:
        folder: where.
        run: the trained run.
        audit: the audit's folder, for the dashboard.
        files: each party's table.
        name: of the model.
        defense: what is released.
        n_classes: of the model.
        releases: how many a record may give; None for any number.
        port: of the gateway; the parties have the next ones.
        codes: what sealed parties may give, by their names.
    """
    limited = {} if releases is None else {"releases": releases}
    limits_for(defense, n_classes, **limited)  # refused before anything is made
    if not folder.is_dir():
        private_folder(folder)
    init_certificates(folder / "certs", list(files), ["localhost", HOST])
    _ledger(folder, name)
    addresses = {party: f"{HOST}:{port + place}" for place, party in enumerate(files, 1)}
    for party, table in files.items():
        own = (codes or {}).get(party)
        what = f"Serves {party}'s part of the model, from its own table{'' if own is None else own.told}."
        part, data = _seen(run / "parties" / party, folder), _seen(table, folder)
        listen = ("--listen", addresses[party], "--certs", f"certs/{party}")
        more = () if own is None else own.options(party)
        _script(folder / f"{party}.sh", what, ["privee", "party", "serve", part, "--data", data, *listen, *more])
    most = [word for key, value in limited.items() for word in (f"--{key}", str(value))]
    served = ("--name", name, "--defense", defense.spec, *most, "--repeatable")
    parties = (word for party, address in addresses.items() for word in ("--party", f"{party}={address}"))
    here = ("--port", str(port), "--audit", _seen(audit, folder))
    what = "Serves releases; every one is counted in the ledger before it leaves."
    _script(
        folder / "gateway.sh", what, ["privee", "gateway", "serve", _seen(run, folder), *served, *KEPT, *parties, *here]
    )
    what = "Starts all parties and the gateway on this machine; Ctrl-C ends them."
    _write(folder / "start.sh", what, START.format(parties=" ".join(files)))
    ask = ASK.format(url=f"http://{HOST}:{port}", model=name)
    _write(folder / "ask.sh", "Asks for the release of one record: sh ask.sh ID", ask)


def _ledger(folder: Path, model: str) -> None:
    url, key = f"sqlite:///{folder / 'ledger.db'}", folder / "ledger.key"
    with key_file(key):
        if not (folder / "ledger.db").exists():
            Ledger.create(url, read_key(key))
    for role in ("consumer", "auditor"):
        if not (folder / f"{role}.key").exists():
            _api_key(folder / f"{role}.key", url, read_key(key), role, model)


def _api_key(path: Path, url: str, key: bytes, role: Role, model: str) -> None:
    with whole_file(path, private=True) as partial, Ledger.open(url, key, limits=Limits()) as ledger:
        store = KeyStore(ledger.engine, ledger.chain_key, ledger.now)
        made = store.create("quickstart", role, [model], "100/minute", actor="quickstart")
        partial.write_text(made.text + "\n", encoding="utf-8")


def _decimal(trillionths: int) -> str:
    """As an option, not a trillionth less."""
    return f"{trillionths / UNIT:.12f}".rstrip("0").rstrip(".")


def _seen(path: Path, folder: Path) -> str:
    """A path as seen from the folder, so that all of it can be moved together."""
    return os.path.relpath(path.resolve(), folder.resolve())


def _script(path: Path, what: str, command: Sequence[str]) -> None:
    _write(path, what, f'exec {shlex.join(command)} "$@"\n')


def _write(path: Path, what: str, text: str) -> None:
    with whole_file(path, force=True) as partial:
        partial.write_text(BEGIN.format(what=what) + text, encoding="utf-8")

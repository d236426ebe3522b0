"""Three machines on one: other ports, loopback in place of hosts, and the newest key where the page has an id."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from privee.client import Client
from tests._support.commands import good
from tests._support.reader.worlds import write_risk_tables
from tests._support.shell import free_ports

NEEDS = ("fastapi",)
SMALLER = {
    "privee gateway demo": "--port 0",
    "privee gateway serve": "--tls",  # loopback would do without
    "privee train": "--model logistic --epochs 2",
    "privee seal": "--epochs 2",
}


def prepare(place):
    write_risk_tables(place.folder)
    place.names["Path"] = Path
    first = free_ports(3)
    for name, port in (("bank", first), ("shop", first + 1)):
        place.replace[f"--listen 0.0.0.0:7001 --certs certs/{name}"] = f"--listen 127.0.0.1:{port} --certs certs/{name}"
        place.replace[f"{name}.example:7001"] = f"127.0.0.1:{port}"
    place.replace |= {"gateway.example": "127.0.0.1", "8443": str(first + 2)}
    place.replace["--host 0.0.0.0"] = "--host 127.0.0.1"
    place.replace |= {"--cacert ca.pem": "--cacert certs/ca.pem", '"ca.pem"': '"certs/ca.pem"'}
    place.replace |= {"1795000000": "1700000000", "8703f0d3": lambda: newest_key(place)}
    place.replace[", key, verify"] = ", Path('consumer.key').read_text().strip(), verify"


def copy_of_sunday(place):
    """A copy of the ledger before most of what is asked."""
    copy = place.folder / "sunday.db"
    if not copy.exists():
        with closing(sqlite3.connect(place.folder / "ledger.db")) as ledger, closing(sqlite3.connect(copy)) as made:
            ledger.backup(made)


def put_back(place):
    """That copy in the ledger's place."""
    place.shell.stop_services()
    ledger = place.folder / "ledger.db"
    for file in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (place.folder / file).unlink(missing_ok=True)
    shutil.copy(place.folder / "sunday.db", ledger)


def use_new_key(place):
    """The key that was just made asks about somebody, so that there is something to reset when it leaked."""
    made = [file.read_text() for file in (place.folder / ".reader").glob("*.out")]
    (key,) = {json.loads(text)["key"] for text in made if text.startswith("{") and '"key":' in text}
    with Client(
        f"https://127.0.0.1:{place.replace['8443']}", key, verify=str(place.folder / "certs" / "ca.pem")
    ) as client:
        client.infer("c1010")


BEFORE = {
    "ask consumer /v2/models/risk/infer": copy_of_sunday,
    "ask admin /admin/keys/8703f0d3/quotas": use_new_key,
    "privee ledger accept-loss": put_back,
}


def newest_key(place):
    """The id of the newest consumer's."""
    keys = json.loads(good("keys", "list", "--json", cwd=place.folder))
    return [key["id"] for key in keys if key["role"] == "consumer"][-1]

"""A run, the same with a sealed shop that has drawn its codes, certificates, and the gateway's ledger."""

import shutil

from tests._support.commands import good
from tests._support.reader.worlds import risk_run, sealed_risk_run
from tests._support.shell import free_ports


def put_back(place):
    """A copy in the ledger's place, as after a disk that failed."""
    place.shell.stop_services()
    ledger = place.folder / "runs" / "risk" / "parties" / "shop" / "ledger.db"
    shutil.copy(ledger, ledger.with_name("copy.db"))
    ledger.with_name("copy.db").replace(ledger)


BEFORE = {"privee party accept-loss": put_back}


def prepare(place):
    risk_run(place)
    sealed_risk_run(place)
    good("party", "export-codes", "runs/risk-sealed/parties/shop", "--out", "codes.parquet", cwd=place.folder)
    good("certs", "init", "certs", "--party", "bank", "--party", "shop", cwd=place.folder)
    good("ledger", "init", cwd=place.folder)
    (place.folder / "wrong.txt").write_text("c1000\n")
    place.replace["0.0.0.0:7001"] = f"127.0.0.1:{free_ports(1)}"
    place.replace |= {f" shop/ledger.{kind}": f" runs/risk/parties/shop/ledger.{kind}" for kind in ("db", "key")}

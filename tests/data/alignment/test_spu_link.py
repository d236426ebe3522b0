"""Links of the engine spu: none without TLS and a pinned certificate; parties that run apart; real spu where it is."""

import os
import socket
import stat
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

import privee
from privee.data.alignment import align
from privee.data.alignment.engines import ENGINES, chosen_engine
from privee.data.alignment.spu.link import SpuLink, local_links, write_certificate
from privee.data.alignment.spu.meetings import Patience
from privee.data.alignment.spu.one_machine import align_with_spu
from privee.data.alignment.spu.pipe import VARIABLE, SpuWorker
from privee.data.alignment.spu.two_machines import align_own
from privee.errors import SettingError, UnavailableError
from privee.net import Address
from tests._support.alignment import BANK, CLUB, SHOP

STAND_IN = Path(__file__).parents[2] / "_support" / "stand_in_worker.py"
HERE, THERE = Address("127.0.0.1", 7001), Address("127.0.0.1", 7002)
needs_spu = pytest.mark.skipif(not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no Python that has spu")


@pytest.fixture
def certificates(tmp_path):
    for name in ("bank", "shop", "eve"):
        write_certificate(tmp_path / f"{name}.pem", tmp_path / f"{name}.key")
    return tmp_path


def files(folder, own, peer):
    return {"certificate": folder / f"{own}.pem", "key": folder / f"{own}.key", "peer": folder / f"{peer}.pem"}


def test_keys_are_private_and_ends_fit(tmp_path):
    one, other = local_links(tmp_path)
    assert stat.S_IMODE(one.key.stat().st_mode) == stat.S_IMODE(other.key.stat().st_mode) == 0o600
    assert one.peer == other.certificate
    assert other.peer == one.certificate
    assert one.active.loopback
    assert one.passive.loopback
    assert one.active != one.passive


def test_unsafe_links_are_refused(certificates):
    good = files(certificates, "bank", "shop")
    SpuLink(HERE, THERE, **good)
    authority = certificates / "authority.pem"
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=ca -keyout ca.key -out"
    subprocess.run([*new.split(), str(authority)], cwd=certificates, check=True, capture_output=True)  # noqa: S603
    readable = certificates / "readable.key"
    readable.write_bytes(good["key"].read_bytes())
    readable.chmod(0o644)
    for change, words in [
        ({"peer": certificates / "none.pem"}, "needs TLS on both sides; no such file"),
        ({"key": readable}, "can be read by others"),
        ({"peer": good["certificate"]}, "is our own"),
        ({"peer": authority}, "self-signed and no authority"),
        ({"peer": good["key"]}, "holds no certificate"),
    ]:
        with pytest.raises(SettingError, match=words):
            SpuLink(HERE, THERE, **good | change)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("rr22",), "no engine is called 'rr22'; there are openmined, spu"),
        (("openmined", ["bank=10.0.0.1:7001"]), "a link is for the engine spu"),
        (("spu", ["bank=10.0.0.1:7001", "shop=10.0.0.2:7001"]), "a link needs TLS on both sides: --certificate"),
        (("spu", ["bank=127.0.0.1:7001", "shop=127.0.0.1:7002"]), "a link needs TLS on both sides"),
        (("spu", (), Path("a.pem")), "certificates are for a link"),
        (("spu", ["10.0.0.1:7001"], *[Path("a")] * 3), "--link takes NAME=HOST:PORT"),
        (("spu", ["a=10.0.0.1:7001", "a=10.0.0.1:7002"], *[Path("a")] * 3), "given twice for party a"),
        (("spu", ["a=10.0.0.1"], *[Path("a")] * 3), "an address is written HOST:PORT"),
    ],
)
def test_bad_settings_are_one_line(given, words):
    with pytest.raises(privee.PriveeError, match=words):
        chosen_engine(*given)


def test_engines_by_name():
    assert chosen_engine("openmined") is ENGINES["openmined"] is align
    assert chosen_engine("spu") is align_with_spu


def test_who_brings_what_over_a_link(certificates):
    ends = files(certificates, "bank", "shop")
    two = {"bank": HERE, "shop": THERE}
    for parties, active, addresses, words in [
        ({"bank": BANK, "shop": SHOP}, "bank", two, "its own file alone: one of bank, shop"),
        ({"club": CLUB}, "bank", two, "its own file alone"),
        ({"bank": BANK}, "bank", {"bank": HERE}, "a link joins two parties, got addresses of 1"),
        ({"bank": BANK}, "club", two, "no address is given for the active party club"),
    ]:
        with pytest.raises(SettingError, match=words):
            align_own(parties, active=active, addresses=addresses, **ends)


def apart(certificates, start, others=None):
    """Both parties' own sides at once, as two machines would run them; what each ended with."""
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        addresses = {"bank": Address(*one.getsockname()), "shop": Address(*other.getsockname())}
    ended = {}

    def side(own, peer, ids):
        given = files(certificates, own, peer) | (others or {}).get(own, {})
        patience = Patience(connect=15, step=60)
        try:
            ended[own] = (
                align_own({own: ids}, active="bank", addresses=addresses, start=start, patience=patience, **given)
                .rows[own]
                .tolist()
            )
        except privee.PriveeError as error:
            ended[own] = error

    sides = [threading.Thread(target=side, args=a) for a in (("bank", "shop", BANK), ("shop", "bank", SHOP))]
    for thread in sides:
        thread.start()
    for thread in sides:
        thread.join()
    return ended


def test_two_parties_that_run_apart(certificates):
    ended = apart(certificates, partial(SpuWorker, [sys.executable, str(STAND_IN)]))
    expected = align({"bank": BANK, "shop": SHOP}, active="bank").rows
    assert ended == {name: rows.tolist() for name, rows in expected.items()}


@needs_spu
def test_spu_agrees_with_the_first_engine():
    parties = {"bank": BANK, "shop": SHOP, "club": CLUB}
    found, expected = (engine(parties, active="bank").rows for engine in (align_with_spu, align))
    assert {name: rows.tolist() for name, rows in found.items()} == {n: rows.tolist() for n, rows in expected.items()}
    with pytest.raises(privee.PriveeError, match="have no common ids"):
        align_with_spu({"bank": BANK[:5], "shop": SHOP[:5]}, active="bank")


@needs_spu
def test_spu_over_a_link_and_strangers_are_kept_out(certificates):
    ended = apart(certificates, SpuWorker)
    assert ended == {
        name: rows.tolist() for name, rows in align({"bank": BANK, "shop": SHOP}, active="bank").rows.items()
    }
    eve = {"certificate": certificates / "eve.pem", "key": certificates / "eve.key"}
    ended = apart(certificates, SpuWorker, {"shop": eve})
    assert all(isinstance(error, UnavailableError) for error in ended.values()), ended

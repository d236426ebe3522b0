"""Certificates: what they are good for, what they never do, and how files that cannot be right are told."""

import datetime
import json
import stat
import threading
from pathlib import Path

import pytest
from benchmarks._shared.party_door import old_certificate
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from privee.errors import PriveeError
from privee.net import Address
from privee.pki import authority
from privee.pki.certificates import init_certificates, list_certificates
from privee.pki.identity import TlsFiles, party_name
from tests._support.commands import good, run

NAMES = ["localhost", "127.0.0.1", "::1", "bank.example.org"]


@pytest.fixture
def certs(tmp_path: Path) -> Path:
    init_certificates(tmp_path / "certs", ["bank", "shop"], NAMES)
    return tmp_path / "certs"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def extension(certificate: x509.Certificate, kind: type) -> object:
    return certificate.extensions.get_extension_for_class(kind).value


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_role_gets_a_certificate_for_its_own_name(certs):
    authority, leaf = load(certs / "ca.pem"), load(certs / "bank" / "cert.pem")
    leaf.verify_directly_issued_by(authority)
    # A party with the gateway's host name could pose as the gateway before consumers.
    assert TlsFiles.from_folder(certs / "bank").load().names == ("bank.party.privee",)
    assert TlsFiles.from_folder(certs / "coordinator").load().names == (
        "coordinator.privee",
        "localhost",
        "bank.example.org",
        "127.0.0.1",
        "::1",
    )
    assert leaf.public_key().curve.name == "secp256r1"
    both = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH}
    assert set(extension(leaf, x509.ExtendedKeyUsage)) == {ExtendedKeyUsageOID.SERVER_AUTH}
    assert set(extension(load(certs / "coordinator" / "cert.pem"), x509.ExtendedKeyUsage)) == both
    assert not extension(leaf, x509.BasicConstraints).ca
    assert extension(authority, x509.BasicConstraints) == x509.BasicConstraints(ca=True, path_length=0)
    assert extension(authority, x509.KeyUsage).key_cert_sign
    assert not extension(leaf, x509.KeyUsage).key_cert_sign
    above = extension(authority, x509.SubjectKeyIdentifier).digest
    assert extension(leaf, x509.AuthorityKeyIdentifier).key_identifier == above
    lives = [one.not_valid_after_utc - datetime.datetime.now(datetime.UTC) for one in (authority, leaf)]
    assert [life.days for life in lives] == [3649, 364]


def test_keys_are_private_and_stay_out_of_repositories(certs):
    folders = [certs, *(certs / role for role in ("coordinator", "bank", "shop"))]
    assert {mode(folder) for folder in folders} == {0o700}
    keys = [certs / "ca.key", *certs.glob("*/key.pem")]
    assert len(keys) == 4
    assert {mode(key) for key in keys} == {0o600}
    assert "*" in (certs / ".gitignore").read_text().splitlines()
    assert len({key.read_bytes() for key in keys}) == 4
    for role in ("bank", "shop", "coordinator"):
        assert sorted(file.name for file in (certs / role).iterdir()) == ["ca.pem", "cert.pem", "key.pem"]
    identity = TlsFiles.from_folder(certs / "bank").load()
    assert "PRIVATE" not in repr(identity)


@pytest.mark.parametrize("granted", [0o644, 0o604, 0o660, 0o602])
def test_a_key_that_others_can_read_is_refused(certs, granted):
    (certs / "bank" / "key.pem").chmod(granted)
    with pytest.raises(PriveeError, match="others can read the private key"):
        TlsFiles.from_folder(certs / "bank").load()
    (certs / "ca.key").chmod(granted)
    with pytest.raises(PriveeError, match="others can read the private key"):
        init_certificates(certs, ["third"], NAMES)


def test_nothing_is_overwritten_and_a_party_can_be_added(certs):
    before = contents(certs)
    assert not any(one.new for one in init_certificates(certs, ["bank", "shop"], ["other.example.org"]))
    assert contents(certs) == before
    told = init_certificates(certs, ["bank", "insurer"], NAMES)
    assert [(one.role, one.new) for one in told] == [("coordinator", False), ("bank", False), ("insurer", True)]
    after = contents(certs)
    assert {name: after[name] for name in before} == before
    load(certs / "insurer" / "cert.pem").verify_directly_issued_by(load(certs / "ca.pem"))
    assert [one.role for one in list_certificates(certs)] == ["bank", "coordinator", "insurer", "shop"]
    (certs / "ca.key").rename(certs.parent / "ca.key")
    with pytest.raises(PriveeError, match="put the CA's key back"):
        init_certificates(certs, ["fourth"], NAMES)
    with pytest.raises(PriveeError, match="holds no CA"):
        list_certificates(certs.parent)


def test_two_at_once_leave_one_working_folder(tmp_path):
    folder, failures = tmp_path / "certs", []

    def make() -> None:
        try:
            init_certificates(folder, ["bank"], NAMES)
        except (PriveeError, OSError) as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) < 4
    init_certificates(folder, ["bank"], NAMES)
    for role in ("bank", "coordinator"):
        assert TlsFiles.from_folder(folder / role).load()
        assert load(folder / role / "ca.pem") == load(folder / "ca.pem")
    assert not list(folder.glob(".*partial"))


def test_files_that_do_not_belong_together_are_told(certs, tmp_path):
    bank, shop = certs / "bank", certs / "shop"
    mixed = TlsFiles(bank / "ca.pem", bank / "cert.pem", shop / "key.pem")
    with pytest.raises(PriveeError, match=r"is not the key of"):
        mixed.load()
    init_certificates(tmp_path / "other", ["bank"], NAMES)
    with pytest.raises(PriveeError, match="was not issued by the CA"):
        TlsFiles(tmp_path / "other" / "ca.pem", bank / "cert.pem", bank / "key.pem").load()
    with pytest.raises(PriveeError, match=r"cannot read the certificate .* role's folder"):
        TlsFiles.from_folder(tmp_path / "nowhere").load()
    (bank / "cert.pem").write_text("not a certificate")
    with pytest.raises(PriveeError, match="not a PEM certificate"):
        TlsFiles.from_folder(bank).load()
    (shop / "key.pem").write_text("not a key")
    with pytest.raises(PriveeError, match="not an unencrypted PEM private key"):
        TlsFiles.from_folder(shop).load()


def test_dates_are_checked(tmp_path, monkeypatch):
    init_certificates(tmp_path / "old", ["bank"], NAMES, days=-0.001)
    with pytest.raises(PriveeError, match=r"cert.pem expired on 20\d\d-\d\d-\d\d: move its folder away"):
        TlsFiles.from_folder(tmp_path / "old" / "bank").load()
    monkeypatch.setattr(authority, "SKEW", datetime.timedelta(days=-1))
    init_certificates(tmp_path / "new", ["bank"], NAMES)
    with pytest.raises(PriveeError, match="clock right"):
        TlsFiles.from_folder(tmp_path / "new" / "bank").load()


def test_a_certificate_does_not_outlive_its_ca(tmp_path):
    init_certificates(tmp_path / "certs", ["bank"], NAMES, days=365, ca_days=10)
    ends = [load(tmp_path / "certs" / name).not_valid_after_utc for name in ("ca.pem", "bank/cert.pem")]
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "name", ["shop.party.privee", "coordinator.privee", "PRIVEE", "x.Privee", "a b", "*", "-a", ""]
)
def test_role_names_and_nonsense_are_no_host_names(tmp_path, name):
    with pytest.raises(PriveeError, match=r"not for hosts|neither a host name nor an IP number"):
        init_certificates(tmp_path / "certs", ["bank"], ["localhost", name])
    assert not (tmp_path / "certs").exists()


@pytest.mark.parametrize(
    "parties", [["../bank"], ["coordinator"], ["bank", "bank"], ["bank", "Bank"], [".x"], ["ca.pem"]]
)
def test_names_of_parties_that_cannot_be_folders_are_refused(tmp_path, parties):
    with pytest.raises(PriveeError):
        init_certificates(tmp_path / "certs", parties, NAMES)
    assert not (tmp_path / "certs").exists()


def test_no_two_parties_share_a_name_in_certificates():
    """DNS does not tell upper from lower case; a name that looks like a hashed one is hashed itself."""
    odd = ["bank", "Bank", "BANK", "my bank", "my_bank", "*", "b" * 64, "bänk"]
    odd += [party_name(name).split(".")[0] for name in odd]
    names = [party_name(name) for name in dict.fromkeys(odd)]
    assert len({name.lower() for name in names}) == len(names)
    assert party_name("passive-1") == "passive-1.party.privee"
    pair = authority.new_key()
    issuer = authority.Pair(authority.make_authority(pair), pair)
    for name in odd:
        authority.issue(issuer, name, [])


@pytest.mark.parametrize(
    ("text", "host", "loopback"),
    [
        ("127.0.0.1:7001", "127.0.0.1", True),
        ("127.8.9.1:7001", "127.8.9.1", True),
        ("[::1]:7001", "::1", True),
        ("localhost:7001", "localhost", True),
        ("0.0.0.0:7001", "0.0.0.0", False),  # noqa: S104
        ("[::]:7001", "::", False),
        ("bank.example.org:7001", "bank.example.org", False),
        ("127.0.0.1.example.org:7001", "127.0.0.1.example.org", False),
        ("localhost.example.org:7001", "localhost.example.org", False),
    ],
)
def test_addresses(text, host, loopback):
    address = Address.parse(text)
    assert (address.host, address.port, address.loopback, str(address)) == (host, 7001, loopback, text)


@pytest.mark.parametrize(
    "text", ["", "bank", ":7001", "bank:", "bank:x", "bank:70000", "::1:7001", "[bank]:1", "a b:1"]
)
def test_nonsense_is_no_address(text):
    with pytest.raises(PriveeError, match="HOST:PORT"):
        Address.parse(text)


def test_the_commands(tmp_path):
    command = ["certs", "init", "certs", "--party", "bank", "--name", "10.0.0.7", "--days", 20, "--json"]
    told = json.loads(good(*command, cwd=tmp_path))
    assert [one["role"] for one in told] == ["coordinator", "bank"]
    assert [one["names"] for one in told] == [["coordinator.privee", "10.0.0.7"], ["bank.party.privee"]]
    shown = good("certs", "show", "certs", cwd=tmp_path)
    assert "bank.party.privee" in shown
    code, _, err = run("certs", "init", "certs", "--party", "a/b", cwd=tmp_path)
    assert code == 2
    assert len(err.strip().splitlines()) == 1


def test_certificates_that_can_ask_other_parties_are_told(tmp_path):
    """Those of older versions; of such a folder, what is told says how to renew them, until they are."""
    folder = tmp_path / "certs"
    old_certificate(folder, "bank")
    for command in (("init", folder, "--party", "bank", "--party", "shop"), ("show", folder)):
        code, out, err = run("certs", *command, cwd=tmp_path)
        assert code == 0
        assert "bank" in out
        (line,) = err.splitlines()
        assert line.startswith("bank: certificates of an older privee, which can also call other parties.")
        assert "move its folder away and run `privee certs init` again" in line
    told = json.loads(good("certs", "show", "certs", "--json", cwd=tmp_path))
    assert {one["role"]: one["wide"] for one in told} == {"bank": True, "coordinator": False, "shop": False}
    assert TlsFiles.from_folder(folder / "bank").load().asks
    (folder / "bank").rename(tmp_path / "away")
    assert run("certs", "init", folder, "--party", "bank", cwd=tmp_path)[2] == ""
    assert not TlsFiles.from_folder(folder / "bank").load().asks

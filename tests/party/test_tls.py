"""A party's TLS, tried from below gRPC: old versions, wrong names and certificates, and renegotiation."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest

from privee.pki import authority
from privee.pki.certificates import init_certificates
from privee.pki.identity import TlsFiles
from tests._support.party_world import World, failure, make_shops, person, using

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes.fromhex("000000040000000000")
"""How HTTP/2 starts: fixed words, and a frame of settings without any."""
BANK = "bank.party.privee"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = make_shops(tmp_path_factory.mktemp("world"))
    expired(made.folder / "certs", "expired-coordinator")
    made.start("bank/csv", "tables", "bank", made.folder / "bank.csv")
    try:
        yield made
    finally:
        made.running["bank/csv"].kill()


def expired(certs: Path, folder: str) -> None:
    """Another certificate of the coordinator's, of the same CA, which ended a minute ago."""
    (certs / "coordinator").rename(certs / "kept")
    init_certificates(certs, [], [], days=-1 / 1440)
    (certs / "coordinator").rename(certs / folder)
    (certs / "kept").rename(certs / "coordinator")


def client(ca: TlsFiles, mine: TlsFiles | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(ca.ca))
    context.set_alpn_protocols(["h2"])
    if mine:
        context.load_cert_chain(mine.cert, mine.key)
    return context


def greeting(world: World, context: ssl.SSLContext, name: str = BANK) -> bytes:
    """The first bytes of the party's HTTP/2: a frame of settings if it accepts the connection."""
    host, port = world.running["bank/csv"].address.split(":")
    with (
        socket.create_connection((host, int(port)), timeout=10) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        connection.sendall(PREFACE)
        return connection.recv(9)


def refused(world: World, context: ssl.SSLContext, name: str = BANK) -> str:
    """Why there is no HTTP/2; a party may also just close."""
    try:
        found = greeting(world, context, name)
    except (ssl.SSLError, ConnectionError) as error:
        return str(error)
    assert found == b""
    return "closed"


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_tls_of_today_is_spoken(world, version):
    context = client(world.tls("coordinator"), world.tls("coordinator"))
    context.minimum_version = context.maximum_version = version
    assert greeting(world, context)[3] == 4  # settings


@pytest.mark.parametrize(("version", "name"), [(ssl.TLSVersion.TLSv1, "TLSv1"), (ssl.TLSVersion.TLSv1_1, "TLSv1.1")])
def test_old_tls_is_refused_by_the_party(world, version, name):
    """And not by this machine's OpenSSL: it speaks it with a server that does."""
    mine, bank = world.tls("coordinator"), world.tls("bank")
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    old.load_cert_chain(bank.cert, bank.key)
    assert spoken(with_version(client(mine, mine), version), with_version(old, version)) == name
    assert refused(world, with_version(client(mine, mine), version))
    assert greeting(world, with_version(client(mine, mine), ssl.TLSVersion.TLSv1_2))[3] == 4


def with_version(context: ssl.SSLContext, version: ssl.TLSVersion) -> ssl.SSLContext:
    context.set_ciphers("ALL:@SECLEVEL=0")  # or OpenSSL itself refuses to speak the old ones
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    return context


def spoken(client_context: ssl.SSLContext, server_context: ssl.SSLContext) -> str | None:
    """What the two agree on, without a network."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [
        client_context.wrap_bio(back, there, server_hostname=BANK),
        server_context.wrap_bio(there, back, server_side=True),
    ]
    for end in ends * 3:
        with contextlib.suppress(ssl.SSLWantReadError):
            end.do_handshake()
    return ends[0].version()


@pytest.mark.parametrize(
    ("role", "certs"),
    [
        (None, "certs"),
        ("shop", "certs"),  # for serving alone
        ("coordinator", "strangers"),
        ("expired-coordinator", "certs"),
    ],
)
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_whoever_has_no_good_certificate_gets_no_http(world, role, certs, version):
    context = client(world.tls("coordinator"), None if role is None else world.tls(role, certs))
    context.minimum_version = context.maximum_version = version
    assert refused(world, context)


def test_the_name_that_is_asked_for_changes_nothing(world):
    """The party shows its one certificate; whoever asks for another name finds that it is not that one's."""
    context = client(world.tls("coordinator"), world.tls("coordinator"))
    for name in ("shop.party.privee", "coordinator.privee", "localhost", "x" * 60):
        with pytest.raises(ssl.SSLCertVerificationError, match="Hostname mismatch"):
            greeting(world, context, name)
    context.check_hostname = False
    for name in ("shop.party.privee", "x" * 60):
        assert greeting(world, context, name)[3] == 4


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the command openssl")
def test_renegotiation_ends_the_connection_and_nothing_else(world):
    """TLS 1.2 lets a client start the handshake over and over, which costs the server more than the client."""
    mine, address = world.tls("coordinator"), world.running["bank/csv"].address
    files = ("-CAfile", mine.ca, "-cert", mine.cert, "-key", mine.key)
    command = ("openssl", "s_client", "-tls1_2", "-connect", address, "-servername", BANK, "-alpn", "h2", *files)
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.STDOUT) as process:  # noqa: S603
        told = b""
        while b"Verify return code: 0 (ok)" not in told:
            told += process.stdout.readline()
        process.stdin.write(b"R\n")  # s_client's command for it
        process.stdin.flush()
        told = process.stdout.read()
        assert process.wait(10) == 1
    _, after = told.split(b"RENEGOTIATING")
    assert b"eof" in after or b"no renegotiation" in after
    assert b"verify" not in after  # no certificate was shown again
    assert using(world.channel({"bank": address}), lambda channel: channel.embeddings([person(1)]))


def test_a_gateway_notices_that_a_partys_certificate_is_no_good(world, tmp_path, monkeypatch):
    """Expired, or not for serving: the gateway looks by itself, whatever the party thinks of its own."""
    certs = world.folder / "certs"
    (certs / "shop").rename(tmp_path / "shop")
    try:
        for change in ("days", "purposes"):
            with monkeypatch.context() as patch:
                days = -1 / 1440 if change == "days" else 1
                if change == "purposes":
                    patch.setattr(authority, "PARTY_PURPOSES", authority.COORDINATOR_PURPOSES[1:])
                init_certificates(certs, ["shop"], [], days=days)
            with serving_with(certs / "shop") as address:
                error, _ = failure(world.channel({"shop": address}), [person(1)])
                assert (error.party, error.kind) == ("shop", "refused")
            shutil.rmtree(certs / "shop")
    finally:
        (tmp_path / "shop").rename(certs / "shop")


@contextlib.contextmanager
def serving_with(folder: Path) -> Iterator[str]:
    """A server that shows a certificate without looking at it."""
    pair = (folder / "key.pem").read_bytes(), (folder / "cert.pem").read_bytes()
    server = grpc.server(None)
    credentials = grpc.ssl_server_credentials([pair], (folder / "ca.pem").read_bytes(), require_client_auth=True)
    port = server.add_secure_port("127.0.0.1:0", credentials)
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0)

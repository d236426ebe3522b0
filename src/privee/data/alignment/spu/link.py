"""Where two workers meet, and how they know each other: TLS on both sides, each with the other's certificate pinned.

There is no setting without TLS. What RR22 sends is safe towards the other party, not towards somebody in between who
plays the other party.
"""

from __future__ import annotations

import dataclasses
import datetime
import secrets
import socket
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from privee.atomic import whole_file
from privee.errors import SettingError
from privee.net import Address


@dataclasses.dataclass(frozen=True)
class SpuLink:
    """One end of the link between an active and a passive party.

    Args:
        active: where the active party's worker listens.
        passive: where the passive party's does.
        certificate: file of the own certificate.
        key: file of its private key.
        peer: file of the other party's certificate; no other one is let in.
    """

    active: Address
    passive: Address
    certificate: Path
    key: Path
    peer: Path

    def __post_init__(self) -> None:
        for name, path in (("certificate", self.certificate), ("key", self.key), ("other's certificate", self.peer)):
            if not path.is_file():
                raise SettingError(f"a link of spu needs TLS on both sides; no such file for the {name}: {path}")
        if self.key.stat().st_mode & 0o077:
            raise SettingError(f"{self.key} can be read by others; make it private: chmod 600 {self.key}")
        own, peer = _certificate(self.certificate), _certificate(self.peer)
        if own == peer:
            raise SettingError("the other party's certificate is our own; each party has one of its own")
        if peer.issuer != peer.subject or _authority(peer):
            raise SettingError(
                f"{self.peer} must be the other party's own certificate, self-signed and no authority, or others that"
                " an authority issued would be let in too (docs/alignment.md has the command that makes one)"
            )

    def as_words(self, rank: int) -> dict[str, object]:
        """What the worker is told."""
        files = {"certificate": self.certificate, "key": self.key, "peer": self.peer}
        return {"rank": rank, "addresses": [str(self.active), str(self.passive)]} | {
            name: str(path.absolute()) for name, path in files.items()
        }


def local_links(folder: Path) -> tuple[SpuLink, SpuLink]:
    """Both ends of a link that stays on this machine, with certificates made for it."""
    with socket.socket() as one, socket.socket() as other:  # both at once, so that they differ
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        active, passive = (Address(*free.getsockname()) for free in (one, other))
    for party in ("active", "passive"):
        write_certificate(folder / f"{party}.pem", folder / f"{party}.key")
    first, second = (
        SpuLink(active, passive, folder / f"{own}.pem", folder / f"{own}.key", folder / f"{peer}.pem")
        for own, peer in (("active", "passive"), ("passive", "active"))
    )
    return first, second


def write_certificate(certificate: Path, key: Path, days: int = 30) -> None:
    """A self-signed certificate and its key, to be pinned by the other party."""
    secret = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"privee align {secrets.token_hex(8)}")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(secret.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=days))
        .sign(secret, hashes.SHA256())
    )
    pem, form, unlocked = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    for path, content in ((key, secret.private_bytes(pem, form, unlocked)), (certificate, made.public_bytes(pem))):
        with whole_file(path, private=path is key) as target:
            target.write_bytes(content)


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except ValueError:
        raise SettingError(f"{path} holds no certificate (PEM)") from None


def _authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False

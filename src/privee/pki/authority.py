"""A private CA and the certificates it issues: EC P-256. Parties only serve with theirs, the coordinator asks too."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress
import re

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from privee.errors import PriveeError
from privee.pki.identity import COORDINATOR, RESERVED, role_name

CA_DAYS, LEAF_DAYS = 3650, 365
SKEW = datetime.timedelta(minutes=10)  # clocks of two machines differ
COORDINATOR_PURPOSES = (ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH)
PARTY_PURPOSES = (ExtendedKeyUsageOID.SERVER_AUTH,)  # another party turns it away in the handshake
_HOST = re.compile(r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)(\.(?!-)[A-Za-z0-9-]{1,63}(?<!-))*")


@dataclasses.dataclass(frozen=True)
class Pair:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey = dataclasses.field(repr=False)

    def certificate_pem(self) -> bytes:
        """The certificate as a file holds it."""
        return self.certificate.public_bytes(Encoding.PEM)


def new_key() -> ec.EllipticCurvePrivateKey:
    """A fresh private key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """A private key as a file holds it."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def key_from_pem(pem: bytes, where: str) -> ec.EllipticCurvePrivateKey:
    """Read a key that `key_pem` wrote."""
    try:
        key = load_pem_private_key(pem, None)
    except (ValueError, TypeError):
        raise PriveeError(f"{where} is damaged: it is not an unencrypted PEM private key") from None
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise PriveeError(f"{where} is not a key that `privee certs init` made")
    return key


def make_authority(key: ec.EllipticCurvePrivateKey, days: int = CA_DAYS) -> x509.Certificate:
    """The CA's certificate, which it signs itself."""
    name = _subject("privee private CA")
    builder = _started(name, name, key, days)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(key_cert_sign=True, crl_sign=True), critical=True)
    return builder.sign(key, hashes.SHA256())


def issue(authority: Pair, role: str, names: list[str], days: int = LEAF_DAYS) -> Pair:
    """A certificate for one role, under its role name and these host names and IP numbers."""
    key, issuer = new_key(), authority.certificate
    purposes = COORDINATOR_PURPOSES if role == COORDINATOR else PARTY_PURPOSES
    alternatives = [x509.DNSName(role_name(role)), *(_alternative(name) for name in names)]
    builder = _started(_subject(role_name(role)), issuer.subject, key, days, issuer.not_valid_after_utc)
    for extension, critical in (
        (x509.BasicConstraints(ca=False, path_length=None), True),
        (_usage(digital_signature=True), True),
        (x509.ExtendedKeyUsage(purposes), False),
        (x509.SubjectAlternativeName(alternatives), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), False),
    ):
        builder = builder.add_extension(extension, critical=critical)
    return Pair(builder.sign(authority.key, hashes.SHA256()), key)


def check_name(name: str) -> str:
    """A host name or IP number for a certificate; the names of roles are not for sale."""
    try:
        return str(ipaddress.ip_address(name))
    except ValueError:
        pass
    if not _HOST.fullmatch(name) or len(name) > 253:
        raise PriveeError(f"{name!r} is neither a host name nor an IP number")
    if f".{name.lower()}".endswith(RESERVED):
        raise PriveeError(f"{name!r} is not for hosts: names in {RESERVED} say which party a certificate is for")
    return name


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(check_name(name))


def _started(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    days: int,
    no_later_than: datetime.datetime | None = None,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    end = now + datetime.timedelta(days=days)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - SKEW)
    builder = builder.not_valid_after(min(end, no_later_than or end))
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)


def _subject(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name[:64])])


def _usage(**granted: bool) -> x509.KeyUsage:
    every = (
        "digital_signature content_commitment key_encipherment data_encipherment key_agreement key_cert_sign crl_sign "
        "encipher_only decipher_only"
    )
    return x509.KeyUsage(**(dict.fromkeys(every.split(), False) | granted))

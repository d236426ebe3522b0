"""A role's certificate, key and CA, read and checked before anything is served or called; and the names they carry."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
import re
import stat
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID

from privee.errors import PriveeError

RENEW = "move its folder away and run `privee certs init` again"


@dataclasses.dataclass(frozen=True)
class Identity:
    """What a role shows and whom it trusts, as PEM bytes, and whether others let it ask. The key is not in `repr`."""

    ca: bytes
    cert: bytes
    key: bytes = dataclasses.field(repr=False)
    names: tuple[str, ...]
    expires: datetime.datetime
    asks: bool


@dataclasses.dataclass(frozen=True)
class TlsFiles:
    """Where a role's certificate, its private key and the CA's certificate are."""

    ca: Path
    cert: Path
    key: Path

    @classmethod
    def from_folder(cls, path: str | os.PathLike[str]) -> TlsFiles:
        """The files `privee certs init` writes for one role: ca.pem, cert.pem and key.pem."""
        folder = Path(path)
        return cls(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")

    def load(self) -> Identity:
        """Read and check all three: private, in date, and belonging together."""
        ca, cert = _certificate(self.ca), _certificate(self.cert)
        key = read_private(self.key)
        _check_dates(cert, self.cert)
        _check_dates(ca, self.ca)
        _check_pair(cert, ca, key, self)
        pems = self.ca.read_bytes(), self.cert.read_bytes(), key
        return Identity(*pems, certificate_names(cert), cert.not_valid_after_utc, can_ask(cert))


def read_private(path: Path) -> bytes:
    """A private key's bytes; a file that others can read is refused. Group read is fine on a file of root's."""
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            allowed = stat.S_IRGRP if about.st_uid == 0 else 0
            if os.name == "posix" and about.st_mode & (stat.S_IRWXG | stat.S_IRWXO) & ~allowed:
                raise PriveeError(
                    f"others can read the private key {path}: chmod 600 it, and make a new one if need be"
                )
            return file.read()
    except OSError as error:
        raise PriveeError(f"cannot read the private key {path}: {error.strerror}") from None


def certificate_names(certificate: x509.Certificate) -> tuple[str, ...]:
    """DNS names and IP numbers a certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return ()
    numbers = (str(number) for number in names.get_values_for_type(x509.IPAddress))
    return (*names.get_values_for_type(x509.DNSName), *numbers)


def can_ask(certificate: x509.Certificate) -> bool:
    """Whether a server accepts it of a caller; one that names no purposes is good for all."""
    try:
        purposes = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return True
    return ExtendedKeyUsageOID.CLIENT_AUTH in purposes


def _certificate(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except OSError as error:
        raise PriveeError(
            f"cannot read the certificate {path}: {error.strerror}; give a role's folder of `privee certs init`"
        ) from None
    except ValueError:
        raise PriveeError(f"{path} is damaged: it is not a PEM certificate") from None


def _check_dates(certificate: x509.Certificate, path: Path) -> None:
    now = datetime.datetime.now(datetime.UTC)
    if now > certificate.not_valid_after_utc:
        raise PriveeError(f"the certificate {path} expired on {certificate.not_valid_after_utc:%Y-%m-%d}: {RENEW}")
    if now < certificate.not_valid_before_utc:
        raise PriveeError(
            f"the certificate {path} is valid from {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC on; "
            "is this machine's clock right?"
        )


def _check_pair(cert: x509.Certificate, ca: x509.Certificate, key: bytes, files: TlsFiles) -> None:
    try:
        public = load_pem_private_key(key, None).public_key()
    except (ValueError, TypeError):
        raise PriveeError(f"{files.key} is damaged: it is not an unencrypted PEM private key") from None
    form = Encoding.DER, PublicFormat.SubjectPublicKeyInfo
    if public.public_bytes(*form) != cert.public_key().public_bytes(*form):
        raise PriveeError(f"{files.key} is not the key of {files.cert}")
    try:
        cert.verify_directly_issued_by(ca)
    except (ValueError, TypeError, InvalidSignature):
        raise PriveeError(f"{files.cert} was not issued by the CA in {files.ca}") from None


COORDINATOR = "coordinator"
COORDINATOR_NAME = "coordinator.privee"
RESERVED = ".privee"

_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_HASHED = re.compile(r"p-[0-9a-f]{32}")


def party_name(party: str) -> str:
    """The DNS name in a party's certificate; no two parties have the same, also where DNS does not tell them apart.

    Example:
        >>> party_name("bank")
        'bank.party.privee'
        >>> party_name("Bank") == party_name("bank")
        False
    """
    plain = _LABEL.fullmatch(party) and not _HASHED.fullmatch(party)
    label = party if plain else "p-" + hashlib.sha256(party.encode()).hexdigest()[:32]
    return f"{label}.party{RESERVED}"


def role_name(role: str) -> str:
    """The DNS name in a role's certificate."""
    return COORDINATOR_NAME if role == COORDINATOR else party_name(role)

"""The folder of `privee certs init`: a CA, and for each role a folder to hand to whoever plays it.

    DIR/ca.pem, DIR/ca.key              the CA; its key is needed only to issue more certificates
    DIR/ROLE/{cert.pem,key.pem,ca.pem}  one role: coordinator, or a party by name

Folders are 0700, keys 0600; a role's folder appears whole or not at all; nothing is ever overwritten.
"""

from __future__ import annotations

import dataclasses
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography import x509

from privee.atomic import private_folder, sync_folder, whole_file
from privee.errors import PriveeError
from privee.pki.authority import (
    CA_DAYS,
    LEAF_DAYS,
    Pair,
    check_name,
    issue,
    key_from_pem,
    key_pem,
    make_authority,
    new_key,
)
from privee.pki.identity import COORDINATOR, can_ask, certificate_names, read_private


@dataclasses.dataclass(frozen=True)
class Issued:
    """One certificate of a folder; `wide`: a party's of an older privee, with which it can also call other parties."""

    role: str
    folder: str
    names: tuple[str, ...]
    expires: str
    wide: bool = False
    new: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dataclasses.asdict(self)


def init_certificates(
    folder: Path, parties: Sequence[str], names: Sequence[str], *, days: int = LEAF_DAYS, ca_days: int = CA_DAYS
) -> list[Issued]:
    """Make the CA and one certificate per role; where a CA or a role is there already, it stays as it is."""
    roles = [COORDINATOR, *parties]
    for role in roles:
        _check_role(role)
    if len({role.lower() for role in roles}) != len(roles):
        raise PriveeError("a role is named twice, or two differ only in upper and lower case")
    hosts = [check_name(name) for name in dict.fromkeys(names)]
    _private_folder(folder)
    authority = _authority(folder, ca_days)
    # Parties are checked by their role's name. With a host name, a party could pose as the gateway before consumers.
    named = {role: hosts if role == COORDINATOR else [] for role in roles}
    made = {role for role in roles if _add_role(folder, role, authority, named[role], days)}
    return [_issued(folder / role, new=role in made) for role in roles]


def list_certificates(folder: Path) -> list[Issued]:
    """Every role's certificate in a folder."""
    if not (folder / "ca.pem").is_file():
        raise PriveeError(f"{folder} holds no CA; make one with `privee certs init {folder}`")
    return [_issued(one.parent) for one in sorted(folder.glob("[!.]*/cert.pem"))]


def _check_role(role: str) -> None:
    if not role or role.startswith((".", "ca.")) or len(role.encode()) > 100 or not role.isprintable():
        raise PriveeError(f"{role!r} cannot be the name of a party in a folder of certificates")
    if "/" in role or os.sep in role:
        raise PriveeError(f"{role!r} cannot be the name of a party: it would be a path")


def _private_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise PriveeError(f"{folder} is a file; give a folder")
    if not folder.exists():
        private_folder(folder)
    if not (folder / ".gitignore").exists():
        _write(folder / ".gitignore", b"# Private keys: never in a repository.\n*\n")


def _authority(folder: Path, days: int) -> Pair:
    """The CA that is there, or a new one. The key is written first: a certificate without it would be of no use."""
    key_file, cert_file = folder / "ca.key", folder / "ca.pem"
    if cert_file.exists() and not key_file.exists():
        raise PriveeError(
            f"{key_file} is missing: put the CA's key back to issue certificates, then take it away again"
        )
    if not key_file.exists():
        _write(key_file, key_pem(new_key()))
    key = key_from_pem(read_private(key_file), str(key_file))
    if not cert_file.exists():
        _write(cert_file, Pair(make_authority(key, days), key).certificate_pem(), 0o644)
    certificate = _read(cert_file)
    if certificate.public_key() != key.public_key():
        raise PriveeError(f"{key_file} is not the key of {cert_file}")
    return Pair(certificate, key)


def _add_role(folder: Path, role: str, authority: Pair, hosts: list[str], days: int) -> bool:
    """Whether the role is new."""
    target = folder / role
    if target.exists():
        return False
    pair = issue(authority, role, hosts, days)
    partial = folder / f".{secrets.token_hex(6)}.partial"
    private_folder(partial)
    try:
        _write(partial / "key.pem", key_pem(pair.key))
        _write(partial / "cert.pem", pair.certificate_pem(), 0o644)
        _write(partial / "ca.pem", authority.certificate_pem(), 0o644)
        partial.rename(target)  # fails where another has put files there meanwhile
        sync_folder(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return True


def _write(path: Path, content: bytes, mode: int = 0o600) -> None:
    with whole_file(path, private=True) as partial:
        partial.write_bytes(content)
        partial.chmod(mode)


def _read(path: Path) -> x509.Certificate:
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except FileNotFoundError:
        raise PriveeError(f"{path} is missing: move its folder away and run `privee certs init` again") from None
    except ValueError:
        raise PriveeError(f"{path} is damaged: it is not a PEM certificate") from None


def _issued(folder: Path, new: bool = False) -> Issued:
    certificate = _read(folder / "cert.pem")
    expires = certificate.not_valid_after_utc.strftime("%Y-%m-%d")
    wide = folder.name != COORDINATOR and can_ask(certificate)
    return Issued(folder.name, str(folder), certificate_names(certificate), expires, wide, new)

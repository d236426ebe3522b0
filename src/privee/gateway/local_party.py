"""The active party's table in the gateway's own process, where the two are one organisation: `--local NAME=FILE`.

Whoever runs this process has the party's own columns and the scores together, so nothing that a defense does to the
scores holds against them. What passive parties send must then tell little by itself: all of them must be sealed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.errors import SettingError
from privee.gateway.coordinator_model import CoordinatorModel
from privee.party.ledger.settings import LedgerSettings
from privee.party.ledger.terms import PartyLimits
from privee.party.server import PartyHandler
from privee.party.start import ServeSettings, open_party
from privee.party.stores import Source
from privee.vfl.run_format import PartyDescription

TEXTS = {"folder", "data", "table", "id", "aligned", "data_dir", "ledger", "secret"}
NUMBERS = {"bits": (int, float), "epsilon": (int, float), "releases": (int,), "variants": (int,)}


def open_local_party(given: Mapping[str, str], run: Path, model: CoordinatorModel) -> PartyHandler | None:
    """The party that is to be answered for here, checked: it must be the active one, and all others sealed."""
    if not given:
        return None
    (name, where), *more = given.items()
    if more or name != model.parties[0]:
        raise SettingError(f"--local is for the active party alone, which is {model.parties[0]}")
    open_ones = [party for party in model.parties[1:] if party not in model.seals]
    if open_ones:
        raise SettingError(
            f"--local {name}: party {open_ones[0]} is not sealed, and whoever runs a gateway with {name}'s table in it "
            f"sees the scores; let {name} listen elsewhere, or seal {open_ones[0]} (privee seal)"
        )
    settings = local_settings(where, run / "parties" / name)
    description = PartyDescription.read(settings.folder)
    if description.party != name:
        raise SettingError(f"--local {name}: {settings.folder} is the folder of party {description.party}")
    handler = open_party(settings, description, tls=False)
    if handler.about.weights != model.weights[name]:
        handler.close()
        raise SettingError(f"--local {name}: {settings.folder} has other weights than the run's")
    return handler


def local_settings(where: str, folder: Path) -> ServeSettings:
    """From a file of settings that ends in .toml, with the names of the options of `privee party serve`; or the data.

    Args:
        where: the file, or what `--data` would be.
        folder: the party's folder in the run, unless the file names another.
    """
    found: dict[str, Any] = _read(Path(where)) if where.endswith(".toml") else {"data": where}
    if "data" not in found:
        raise SettingError(f'{where}: say where the columns are: data = "bank.csv"')
    limits = PartyLimits(*(found.get(name) for name in NUMBERS))
    paths = {name: Path(found[name]) if name in found else None for name in ("folder", "data_dir", "secret")}
    source = Source(found["data"], found.get("table"), found.get("id"), paths["data_dir"], found.get("aligned"))
    own = LedgerSettings(found.get("ledger"), paths["secret"], limits)
    return ServeSettings(paths["folder"] or folder, source, ledger=own)


def _read(file: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SettingError(f"{file} is missing") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise SettingError(f"{file} cannot be read as TOML") from None
    for name, value in found.items():
        kinds: tuple[type, ...] = (str,) if name in TEXTS else NUMBERS.get(name, ())
        if not kinds:
            raise SettingError(f"{file}: {name} is no setting; there are {', '.join(sorted(TEXTS | NUMBERS.keys()))}")
        if type(value) not in kinds:
            raise SettingError(f"{file}: {name} must be {'a text' if name in TEXTS else 'a number'}")
    return found

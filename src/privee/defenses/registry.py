"""Defenses by name, for the command line, saved settings and other packages."""

from __future__ import annotations

from typing import Any

from privee.defenses.base import Defense
from privee.registry import Registry

DEFENSES: Registry[Defense] = Registry("defense", ("privee.defenses", "privee.baselines"), "privee.defenses")

register = DEFENSES.register
known_defenses = DEFENSES.known


def defense(name: str, **settings: Any) -> Defense:
    """Make a defense from its name and settings, or from a spec such as `"privee-u:rho=0.1"`.

    Example:
        >>> defense("privee-u:rho=0.1,transform=identity")
        PriveeU(amplitude=0.48, transform='identity', draw_range=1.0, rho=0.1)
        >>> defense(**defense("rounding", digits=2).settings())
        Rounding(digits=2)
    """
    return DEFENSES.make(name, **settings)

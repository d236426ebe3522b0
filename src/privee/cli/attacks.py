"""`privee attacks`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.names import ATTACK
from privee.cli.output import ROOMY, Wide, out, print_json, print_wide

if TYPE_CHECKING:
    from privee.attacks import Attack


def attacks(
    spec: Annotated[
        str | None, typer.Argument(autocompletion=ATTACK, help="One attack by name or with settings, in detail.")
    ] = None,
    wide: Wide = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What attacks there are, and what each one needs.

    Example: `privee attacks prior-informed`
    """
    from privee.attacks import attack as make_attack
    from privee.attacks import known_attacks
    from privee.attacks.registry import ATTACKS

    name, colon, _ = (spec or "").partition(":")
    shown = [ATTACKS.find(name)] if name else list(known_attacks().values())
    given = make_attack(spec).settings() if spec and colon else {}
    if as_json:
        print_json([_as_dict(cls, given) for cls in shown])
    elif name:
        _detail(shown[0], given)
    elif wide:
        print_wide(_wide_table(shown))
    else:
        out.print(_table(shown))
        out.print("An attack that knows the defense is adaptive: privee attacks --wide says how.")
        out.print("Settings and sources: privee attacks NAME")


def _as_dict(cls: type[Attack], given: dict[str, Any]) -> dict[str, Any]:
    return {
        "attack": cls.name,
        "summary": cls.summary,
        "needs": dataclasses.asdict(cls.needs),
        "adapts": cls.adapts,
        "settings": _settings(cls, given),
        "audited": cls.audited,
        "published": cls.published,
    }


def _table(shown: list[type[Attack]]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("attack", no_wrap=True)
    table.add_column("needs", max_width=18 if out.width < ROOMY else None)
    table.add_column("what it does")
    for cls in shown:
        table.add_row(cls.name, ", ".join(cls.needs.words()) or "nothing more", cls.summary)
    return table


def _wide_table(shown: list[type[Attack]]) -> Table:
    table = Table("attack", "needs", "what it does", "if adaptive")
    for cls in shown:
        table.add_row(cls.name, ", ".join(cls.needs.words()) or "nothing more", cls.summary, cls.adapts)
    return table


def _detail(cls: type[Attack], given: dict[str, Any]) -> None:
    out.print(f"[bold]{cls.name}[/bold]  {cls.summary}")
    out.print(f"needs: {', '.join(cls.needs.words()) or 'nothing but releases, own columns and the model'}")
    out.print(f"adaptive: {cls.adapts}")
    for name, value in _settings(cls, given).items():
        out.print(f"  {name} = {'(must be given)' if value is None else value}", markup=False)
    out.print(f"in an audit by default: {', '.join(cls.audited) or 'no'}", markup=False)
    out.print(f"published: {cls.published or 'this project'}", markup=False)


def _settings(cls: type[Attack], given: dict[str, Any]) -> dict[str, Any]:
    """By name: what was given, or else the default; None where there is none."""
    fields = dataclasses.fields(cls)  # type: ignore[arg-type]
    defaults = {field.name: None if field.default is dataclasses.MISSING else field.default for field in fields}
    return {name: given.get(name, default) for name, default in defaults.items()}

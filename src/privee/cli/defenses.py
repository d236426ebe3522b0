"""`privee defenses`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table

from privee.cli.output import out, print_json
from privee.defenses import Defense, known_defenses
from privee.defenses import defense as make_defense


def defenses(
    spec: Annotated[str | None, typer.Argument(help="One defense with settings, in detail.")] = None,
    classes: Annotated[int, typer.Option("--classes", "-k", min=2, help="How many classes the model has.")] = 10,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What defenses there are, and what each one guarantees.

    Example: `privee defenses privee-u:rho=0.1 --classes 100`
    """
    shown = [make_defense(spec)] if spec else [make_defense(c.example or c.name) for c in known_defenses().values()]
    if as_json:
        print_json(
            [_as_dict(one, classes) | ({"parameters": one.parameters(classes)} if spec else {}) for one in shown]
        )
    elif spec:
        _detail(shown[0], classes)
    else:
        out.print(_table(shown, classes))
        out.print("An attacker who knows the defense undoes what is not proven. Details: privee defenses SPEC")


def _as_dict(one: Defense, classes: int) -> dict[str, object]:
    return {
        "defense": one.settings(),
        "spec": one.spec,
        "summary": one.summary,
        "preserves_order": one.preserves_order,
        "classes": classes,
        "guarantee": one.guarantee(classes).as_dict(),
    }


def _table(shown: list[Defense], classes: int) -> Table:
    table = Table(
        "defense", "keeps ranking", "what it does", "proven", title=f"{classes} classes", title_justify="left"
    )
    for one in shown:
        order = "yes, exactly" if one.preserves_order else "no"
        table.add_row(one.spec, order, one.summary, one.guarantee(classes).proven)
    return table


def _detail(one: Defense, classes: int) -> None:
    guarantee = one.guarantee(classes)
    out.print(f"[bold]{one.spec}[/bold]  {one.summary}")
    out.print(f"keeps the ranking: {'yes, exactly' if one.preserves_order else 'no'}")
    out.print(f"proven ({classes} classes): {guarantee.proven}")
    if guarantee.same:
        out.print(f"cannot be told apart: {guarantee.same}")
    for text, lines in (("assumes", guarantee.assumptions), ("not covered", guarantee.not_covered)):
        for line in lines:
            out.print(f"{text}: {line}")
    for name, value in guarantee.figures.items():
        out.print(f"  {name.replace('_', ' ')}: {value:.4g}")
    if parameters := one.parameters(classes):
        out.print(parameters, markup=False)

"""`privee defenses`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from privee.cli.names import DEFENSE
from privee.cli.output import Wide, out, print_json, print_wide
from privee.defenses import Defense, known_defenses
from privee.defenses import defense as make_defense
from privee.defenses.registry import DEFENSES


def defenses(
    spec: Annotated[
        str | None, typer.Argument(autocompletion=DEFENSE, help="One defense with settings, in detail.")
    ] = None,
    classes: Annotated[int, typer.Option("--classes", "-k", min=2, help="How many classes the model has.")] = 10,
    wide: Wide = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """What defenses there are, and what each one guarantees.

    Example: `privee defenses privee-u:rho=0.1 --classes 100`
    """
    shown = [_made(spec)] if spec else [_made(name) for name in known_defenses()]
    if as_json:
        print_json(
            [_as_dict(one, classes) | ({"parameters": one.parameters(classes)} if spec else {}) for one in shown]
        )
    elif spec:
        _detail(shown[0], classes)
    elif wide:
        print_wide(_wide_table(shown, classes))
    else:
        out.print(_table(shown))
        out.print("An attacker who knows the defense undoes what is not proven.")
        out.print("What is: privee defenses NAME, for all of them: privee defenses --wide")
        out.print("Defenses of the embedding (mid, dcor and others) and seals come with training: privee train --help")


def _made(spec: str) -> Defense:
    """A defense; of a name alone, with the settings of its example."""
    return make_defense(spec if ":" in spec else DEFENSES.find(spec).example or spec)


def _as_dict(one: Defense, classes: int) -> dict[str, object]:
    return {
        "defense": one.settings(),
        "spec": one.spec,
        "summary": one.summary,
        "preserves_order": one.preserves_order,
        "classes": classes,
        "guarantee": one.guarantee(classes).as_dict(),
    }


def _table(shown: list[Defense]) -> Table:
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("defense", no_wrap=True)
    table.add_column("ranking")
    table.add_column("what it does")
    for one in shown:
        table.add_row(one.spec, "exact" if one.preserves_order else "-", one.summary)
    return table


def _wide_table(shown: list[Defense], classes: int) -> Table:
    title = f"{classes} classes"
    table = Table("defense", "keeps ranking", "what it does", "proven", title=title, title_justify="left")
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

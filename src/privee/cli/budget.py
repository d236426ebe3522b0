"""`privee budget`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.bar import Bar
from rich.table import Table

from privee.cli.output import out, print_json
from privee.defenses import defense as make_defense
from privee.errors import PriveeError
from privee.theory.budget_plan import BudgetPlan, plan_budget


def budget(
    defense: Annotated[str, typer.Option("--defense", "-d", help="PRIVEE-U or U+ with settings.")] = "privee-u:rho=0.1",
    classes: Annotated[int, typer.Option("--classes", "-k", min=2, help="How many classes the model has.")] = 10,
    within: Annotated[float, typer.Option(help="Tolerance, as a share of the score: 0.01 is one percent.")] = 0.01,
    tolerance: Annotated[float | None, typer.Option(help="Absolute tolerance instead; needs --scores.")] = None,
    scores: Annotated[str | None, typer.Option(help="A score vector, such as 0.7,0.2,0.1.")] = None,
    probability: Annotated[float, typer.Option("--probability", "-p", help="Accepted chance of a hit.")] = 0.5,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """How many queries a record can bear before repeated releases give a score away.

    Example: `privee budget --defense privee-u:rho=0.1 --classes 10 --within 0.001`
    """
    plan = plan_budget(
        make_defense(defense),
        classes=classes,
        within=within,
        tolerance=tolerance,
        scores=None if scores is None else _vector(scores),
        probability=probability,
    )
    if as_json:
        print_json(plan.as_dict())
    else:
        _show(plan)


def _vector(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise PriveeError("--scores must be numbers separated by commas, such as 0.7,0.2,0.1") from None


def _show(plan: BudgetPlan) -> None:
    queries = "no limit on queries" if plan.queries is None else f"{plan.queries:,} queries"
    out.print(f"[bold]{queries}[/bold] per record: {plan.words}")
    if not plan.curve:
        return
    table = Table("queries", "", "chance of a hit", "(paper's attack)", box=None)
    for point in plan.curve:
        bar = Bar(1.0, 0.0, point.best, width=30, color="red" if point.best > plan.probability else "green")
        table.add_row(f"{point.queries:,}", bar, f"{point.best:.1%}", f"{point.minimum:.1%}")
    out.print(table)
    out.print(
        f"The paper's attack (minimum of the releases) alone would allow {plan.queries_minimum:,}. Half of minimum "
        "plus maximum is the best for one class and needs half the queries; using that scores sum to one helps further."
    )

"""`privee budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.bar import Bar
from rich.table import Table

from privee.cli.budget_questions import QUESTIONS, measured_curve, show_curve
from privee.cli.names import DEFENSE
from privee.cli.output import out, print_json
from privee.defenses import Guarantee
from privee.defenses import defense as make_defense
from privee.defenses.rank_noise import RankNoise
from privee.errors import PriveeError
from privee.theory.budget_plan import BudgetPlan, plan_budget
from privee.theory.release_budget import TOTAL, ReleaseBudget, release_budget

Chance = Annotated[float | None, typer.Option("--probability", "-p", help="... with this chance. [default: 0.5]")]


def budget(
    run: Annotated[Path | None, typer.Argument(help="A finished run folder: what questions tell on its model.")] = None,
    defense: Annotated[
        str, typer.Option("--defense", "-d", autocompletion=DEFENSE, help="What is released, with settings.")
    ] = "privee-u:rho=0.1",
    classes: Annotated[
        int | None, typer.Option("--classes", "-k", min=2, help="How many classes the model has. [default: 10]")
    ] = None,
    epsilon: Annotated[
        float | None, typer.Option(help="Total of a record, where releases have an epsilon. [default: 8]")
    ] = None,
    delta: Annotated[float, typer.Option(help="Above 0: advanced composition where it allows more.")] = 0.0,
    within: Annotated[
        float | None, typer.Option(help="PRIVEE-U and U+: a score may be known to this share of it [default: 0.01] ...")
    ] = None,
    tolerance: Annotated[float | None, typer.Option(help="Absolute tolerance instead; needs --scores.")] = None,
    scores: Annotated[str | None, typer.Option(help="A score vector, such as 0.7,0.2,0.1.")] = None,
    probability: Chance = None,
    questions: Annotated[
        str | None, typer.Option(help="With a run: numbers of questions about one record. [default: 1,2,3,5,10]")
    ] = None,
    party: Annotated[list[str] | None, typer.Option(help="New tables for a run on tables: NAME=FILE.")] = None,
    records: Annotated[int, typer.Option(min=1, help="With a run: records asked about.")] = 60,
    auxiliary: Annotated[int, typer.Option(min=0, help="With a run: rows the attacker knows in full.")] = 500,
    seed: Annotated[int, typer.Option(help="With a run: for records and all draws.")] = 0,
    data_dir: Annotated[Path | None, typer.Option(help="With a run: folder with dataset files.")] = None,
    picture: Annotated[
        Path | None, typer.Option("--out", "-o", help="With a run: draw the curve as .png or .svg.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the picture if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """How many queries a record can bear before repeated releases give too much away.

    Example: `privee budget --defense privee-u:rho=0.1 --classes 10 --within 0.001`

    With a proof of differential privacy: `privee budget --defense ordered-dp:epsilon=1 --epsilon 10`

    What each further question can tell: `privee budget runs/digits --defense ranking-only --questions 1,2,5`
    """
    chance = {"within": within, "tolerance": tolerance, "scores": scores, "probability": probability}
    if run is None:
        _need_run(questions=questions, party=party, data_dir=data_dir, out=picture)
        _of_releases(defense, 10 if classes is None else classes, epsilon, delta, chance, as_json)
        return
    _refuse("a run", "a curve by number of questions", classes=classes, epsilon=epsilon, delta=delta or None, **chance)
    asked: dict[str, Any] = {
        "records": records,
        "auxiliary": auxiliary,
        "seed": seed,
        "picture": picture,
        "force": force,
    }
    curve = measured_curve(run, defense, questions or QUESTIONS, party=party, data_dir=data_dir, **asked)
    show_curve(curve, as_json)


def _of_releases(
    defense: str, classes: int, epsilon: float | None, delta: float, chance: dict[str, Any], as_json: bool
) -> None:
    """How many releases of the same scores; `chance` is what says when a score counts as known."""
    chosen = make_defense(defense)
    if isinstance(chosen, RankNoise):
        _refuse(chosen.name, "releases without an epsilon", epsilon=epsilon, delta=delta or None)
        given = {name: value for name, value in chance.items() if value is not None}
        if "scores" in given:
            given["scores"] = _vector(given["scores"])
        plan = plan_budget(chosen, classes=classes, **({"within": 0.01, "probability": 0.5} | given))
        print_json(plan.as_dict()) if as_json else _show(plan)
        return
    _refuse(chosen.name, "no chance of a hit in closed form, which privee-u and privee-u+ have", **chance)
    found = release_budget(chosen, classes=classes, total=TOTAL if epsilon is None else epsilon, delta=delta)
    print_json(found.as_dict()) if as_json else _tell(found, chosen.guarantee(classes))


def _refuse(name: str, has: str, **given: object) -> None:
    """Options that mean nothing for this defense are not taken in silence."""
    for option, value in given.items():
        if value is not None:
            raise PriveeError(f"--{option} means nothing here: {name} has {has}")


def _need_run(**given: object) -> None:
    """What is asked of a model needs one."""
    for option, value in given.items():
        if value is not None:
            name = option.replace("_", "-")
            raise PriveeError(f"--{name} is for a run's model; give its folder: privee budget RUN --questions 1,2,5")


def _tell(found: ReleaseBudget, proven: Guarantee) -> None:
    """The number, what it means, and what it is a number of."""
    plural = "" if found.queries == 1 else "s"
    many = "No number of queries" if found.queries is None else f"{found.queries:,} release{plural} per record"
    out.print(f"[bold]{'No limit on queries' if found.kind == 'unlimited' else many}[/bold]: {found.words}")
    if proven.same:
        out.print(f"alike: {proven.same}", markup=False)
    for text, lines in (("assumes", proven.assumptions), ("not covered", proven.not_covered)):
        for line in lines:
            out.print(f"{text}: {line}", markup=False)
    if found.queries:
        total = f"--epsilon {found.total:g}" + (f" --delta {found.total_delta:g}" if found.total_delta else "")
        kept = f"--releases {found.queries}" if found.delta else total  # the gateway adds up no delta of a release
        out.print(f"kept to by: privee gateway serve {kept}", markup=False)


def _vector(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise PriveeError("--scores must be numbers separated by commas, such as 0.7,0.2,0.1") from None


def _show(plan: BudgetPlan) -> None:
    out.print(f"[bold]{plan.queries:,} queries[/bold] per record: {plan.words}")
    table = Table("queries", "", "chance of a hit", "(paper's attack)", box=None)
    for point in plan.curve:
        bar = Bar(1.0, 0.0, point.best, width=30, color="red" if point.best > plan.probability else "green")
        table.add_row(f"{point.queries:,}", bar, f"{point.best:.1%}", f"{point.minimum:.1%}")
    out.print(table)
    out.print(
        f"The paper's attack (minimum of the releases) alone would allow {plan.queries_minimum:,}. Half of minimum "
        "plus maximum is the best for one class and needs half the queries; using that scores sum to one helps further."
    )

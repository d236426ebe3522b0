"""The report: every result with what is printed, what was measured and whether they agree, on one Markdown page.

One section names printed figures that do not fit together; every number in it is computed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.paper.base import Result, known_results, load_outcome, save_outcome
from privee.paper.measure.agreement import CLOSE
from privee.paper.measure.contradictions import (
    HALF,
    PrintedFigure,
    above_any_guess,
    beyond_reach,
    confident,
    met_as,
    printed_figures,
    rises_with_rho,
    two_values,
)
from privee.paper.outcomes import Outcome, sentence, verdict
from privee.paper.printed import PRIVEE_U, PRIVEE_U_AS_RELEASED
from privee.paper.report.markdown_tables import markdown, tables

TITLE = "# The paper, table by table and figure by figure"
SHORT_SETTINGS = 700


def write_report(results_folder: Path, target: Path) -> Path:
    """Write the page, and beside it a folder of its name with the JSON files and pictures it links to.

    Args:
        results_folder: holds what `privee paper run` kept; results that are missing are named as not run.
        target: the page, such as docs/paper.md.
    """
    if target.suffix != ".md":
        raise PriveeError(f"the report is a Markdown page: give it a name that ends in .md, not {target.name}")
    outcomes = read_outcomes(results_folder)
    target.parent.mkdir(parents=True, exist_ok=True)
    pictures = {name: save_outcome(outcome, target.with_suffix("")) for name, outcome in outcomes.items()}
    text = page(outcomes, target.stem, pictured={name for name, files in pictures.items() if "picture" in files})
    with whole_file(target, force=True) as partial:
        partial.write_text(text, encoding="utf-8")
    return target


def read_outcomes(folder: Path) -> dict[str, Outcome]:
    """What the folder holds of the known results, by name, in their order."""
    if not folder.is_dir():
        raise PriveeError(f"there is no folder {folder}; measure results first, such as `privee paper run runtime`")
    kept = {name: folder / f"{name}.json" for name in known_results() if (folder / f"{name}.json").exists()}
    found = {name: _judged_now(load_outcome(path)) for name, path in kept.items()}
    if not found:
        raise PriveeError(f"{folder} holds no results; measure some first, such as `privee paper run runtime`")
    return found


def _judged_now(outcome: Outcome) -> Outcome:
    """With the account that its rows give today; the rows are what was measured."""
    return dataclasses.replace(outcome, account=known_results()[outcome.name].account(outcome.rows))


def page(outcomes: Mapping[str, Outcome], folder: str, *, pictured: set[str]) -> str:
    """The whole page; `folder` is where files lie, seen from it."""
    known = known_results()
    parts = [TITLE, _introduction(outcomes), "## Overview", _overview(known, outcomes), notes(outcomes)]
    parts += [_section(known[name], outcome, folder, name in pictured) for name, outcome in outcomes.items()]
    return "\n\n".join(parts) + "\n"


def _introduction(outcomes: Mapping[str, Outcome]) -> str:
    verdicts = [outcome.account.agrees for outcome in outcomes.values()]
    sizes = sorted({outcome.size for outcome in outcomes.values()})
    return (
        f"Of {len(known_results())} results, {len(outcomes)} were measured here ({' and '.join(sizes)} size). "
        f"Agreeing with what is printed: {verdicts.count(True)}; not agreeing: {verdicts.count(False)}; nothing "
        f"printed to compare with: {verdicts.count(None)}. `quick` uses small data in place of the paper's; `full` is "
        "the paper's own setting. Every line of a table links to the JSON file it comes from; row 3 is `rows[3]`, "
        "counted from zero. ± and brackets are the band named with each result."
    )


def _overview(known: Mapping[str, Result], outcomes: Mapping[str, Outcome]) -> str:
    body = []
    for name, result in known.items():
        outcome = outcomes.get(name)
        account = None if outcome is None else outcome.account
        said = ["", ""] if account is None else [account.printed, account.measured]
        title = name if outcome is None else f"[{name}](#{name}) ({outcome.size})"
        body.append([title, result.source, *said, verdict(account), "" if account is None else account.reason])
    head = ("result", "in the paper", "printed", "measured", "agrees", "reason")
    return markdown(head, body, len(head), fold=False)


def _section(result: Result, outcome: Outcome, folder: str, pictured: bool) -> str:
    account, link = outcome.account, f"{folder}/{outcome.name}.json"
    parts = [
        f"## {outcome.name}",
        f"**{outcome.title}** ({outcome.size}). In the paper: {result.source}.",
        f"Printed: {sentence(account.printed)} Measured: {sentence(account.measured)} "
        f"Agrees: {verdict(account)}. {sentence(account.reason)}".rstrip(),
    ]
    if pictured:
        parts.append(f"![{outcome.title}]({folder}/{outcome.name}.png)")
    shown = result.table(outcome, link)
    return "\n\n".join([*parts, tables(outcome, link) if shown is None else shown, _made_by(outcome, link)])


def _made_by(outcome: Outcome, link: str) -> str:
    about = outcome.about
    settings = json.dumps(about["settings"])
    shown = f"`{settings}`" if len(settings) <= SHORT_SETTINGS else f"in [{Path(link).name}]({link}) under `about`"
    machine = about["machine"]
    made = f"privee {about['privee']}, {about['date']}, {machine['cores']} cores, {machine['system']}"
    return (
        f"Figures: {outcome.band}. Made by `{about['command']}` ({made}; {about['seconds']:,g} s beside what earlier "
        f"calls had kept). Settings: {shown}."
    )


def notes(outcomes: Mapping[str, Outcome]) -> str:
    """Write the section on figures that do not fit together."""
    parts = ["## Printed figures that do not fit together", _what_is_printed(outcomes), _two_values(), _bound()]
    return "\n\n".join([*parts, _beyond(beyond_reach())])


def _what_is_printed(outcomes: Mapping[str, Outcome]) -> str:
    count, near = met_as(outcomes.values())
    above, of = above_any_guess()
    compared = (
        f"Of {count} printed figures compared on this page, {near['confidence_residual']} lie within {CLOSE:.0%} of "
        f"our confidence residual and {near['feature_mse']} within {CLOSE:.0%} of our feature MSE."
        if count
        else "No table of attacks was measured here at the paper's settings, so nothing is compared."
    )
    sure = confident()
    return (
        "**What the attack tables print.** They are headed as the error of reconstructed columns. Columns lie in "
        f"[0, 1], where the answer 0.5 errs by at most {HALF:g}; {above} of the {of} figures in the six tables by "
        "strength are larger. The attack's own loss, the mean square of the model's scores minus the released values "
        "(confidence residual), is of the printed size: for a confident model of ten classes behind PRIVEE-U it is "
        f"{sure[PRIVEE_U]:.1f} with draws up to 1, as published, and {sure[PRIVEE_U_AS_RELEASED]:.1f} with draws up "
        f"to 3. {compared} Where an attack errs more than a guess without any release, even undefended, its figures "
        "say how far scores were moved, not what the columns keep."
    )


def _two_values() -> str:
    by_clients, by_rho = two_values()
    rises = " and ".join(f"from {a} to {b}" for a, b in rises_with_rho())
    return (
        "**One setting, two values.** GRNA on MNIST with 25 clients and rho = 0.1 is printed twice: "
        f"{by_clients:.2f} in the table by clients, {by_rho:.2f} in the table by rho, {by_clients / by_rho:.1f} times "
        f"apart. The table by rho rises between neighbours {rises}, while the text has the error fall with rho."
    )


def _bound() -> str:
    beyond, of = beyond_reach(), len(printed_figures())
    any_draws = sum(figure.value > figure.bound for figure in beyond)
    return (
        "**Figures no residual can reach.** Scores of the model and true scores are probability vectors, so without a "
        "defense the residual is at most 2 / K, and behind PRIVEE it has a largest value as well "
        "(`privee.paper.measure.contradictions`, with draws up to 3). "
        f"{len(beyond)} of {of} printed figures, undefended or behind PRIVEE, are above the largest mean over draws; "
        f"{any_draws} of them are above the largest value for any draws. They are not residuals of this release, so "
        "the tables do not all print the same quantity, or not from the settings they name. The schedule of "
        "PRIVEE-U+ is not printed; rho from 0.1 to 0.9 is taken here, and no schedule from 0.1 on goes higher."
    )


def _beyond(figures: list[PrintedFigure]) -> str:
    head = ("table", "where", "printed", "largest mean", "largest for any draws")
    body = [[f.table, f.where, f"{f.value:g}", f"{f.mean_bound:.3g}", f"{f.bound:.3g}"] for f in figures]
    return markdown(head, body, 2)

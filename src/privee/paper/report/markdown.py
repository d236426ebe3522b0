"""The report: every result with what is printed, what was measured and whether they agree, on one Markdown page.

One section names printed figures that do not fit together.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privee.atomic import whole_file
from privee.errors import PriveeError
from privee.paper.base import Result, known_results, load_outcome, save_outcome
from privee.paper.outcomes import Outcome, listed, sentence, verdict
from privee.paper.report.contradictions import notes
from privee.paper.report.differences import differs
from privee.paper.report.figures_met import figures_met
from privee.paper.report.markdown_tables import markdown, tables
from privee.paper.report.sittings_table import sittings
from privee.paper.report.today import other_settings, reworded

TITLE = "# The paper, table by table and figure by figure"
SHORT_SETTINGS = 700
EARLIER = "Measured with earlier settings; today the command takes others and its figures will differ"


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
    """With the printed figures and the account of today; what was measured stays."""
    result = known_results()[outcome.name]
    rows = tuple(result.beside(outcome.rows))
    return dataclasses.replace(reworded(result, outcome), rows=rows, account=result.account(rows))


def page(outcomes: Mapping[str, Outcome], folder: str, *, pictured: set[str]) -> str:
    """The whole page; `folder` is where files lie, seen from it."""
    known = known_results()
    parts = [TITLE, _introduction(outcomes), "## Overview", _overview(known, outcomes), notes(outcomes)]
    parts += filter(None, [sittings(outcomes)])
    parts += [_section(known[name], one, folder, name in pictured, outcomes) for name, one in outcomes.items()]
    return "\n\n".join(parts) + "\n"


def _introduction(outcomes: Mapping[str, Outcome]) -> str:
    verdicts = [outcome.account.agrees for outcome in outcomes.values()]
    sizes = sorted({outcome.size for outcome in outcomes.values()})
    return (
        f"Of {len(known_results())} results, {len(outcomes)} were measured here ({' and '.join(sizes)} size). "
        f"Agreeing with what is printed: {verdicts.count(True)}; not agreeing: {verdicts.count(False)}; nothing "
        f"printed to compare with: {verdicts.count(None)}.{figures_met(outcomes)}\n\n"
        "`quick` uses small data in place of the paper's; `full` takes the paper's data and settings but for what each "
        "result says under *Differs from the paper*. Every line of a table links to the JSON file it comes from; row 3 "
        "is `rows[3]`, counted from zero. ± and brackets are the band named with each result."
    )


def _overview(known: Mapping[str, Result], outcomes: Mapping[str, Outcome]) -> str:
    body = []
    for name, result in known.items():
        outcome = outcomes.get(name)
        account = None if outcome is None else outcome.account
        said = ["", ""] if account is None else [account.printed, account.measured]
        title = name if outcome is None else f"[{name}](#{name}) ({outcome.size}{_earlier(result, outcome)})"
        body.append([title, result.source, *said, verdict(account), "" if account is None else account.reason])
    head = ("result", "in the paper", "printed", "measured", "agrees", "reason")
    return markdown(head, body, len(head), fold=False)


def _earlier(result: Result, outcome: Outcome) -> str:
    return ", earlier settings" if other_settings(result, outcome) else ""


def _section(result: Result, outcome: Outcome, folder: str, pictured: bool, outcomes: Mapping[str, Outcome]) -> str:
    account, link = outcome.account, f"{folder}/{outcome.name}.json"
    parts = [
        f"## {outcome.name}",
        f"**{outcome.title}** ({outcome.size}). In the paper: {result.source}.",
        f"Printed: {sentence(account.printed)} Measured: {sentence(account.measured)} "
        f"Agrees: {verdict(account)}. {sentence(account.reason)}".rstrip(),
        *differs(outcome),
    ]
    if pictured:
        parts.append(f"![{outcome.title}]({folder}/{outcome.name}.png)")
    shown = result.tables(outcome, link, outcomes)
    return "\n\n".join([*parts, tables(outcome, link) if shown is None else shown, _made_by(result, outcome, link)])


def _made_by(result: Result, outcome: Outcome, link: str) -> str:
    about = outcome.about
    settings = json.dumps(about["settings"])
    shown = f"`{settings}`" if len(settings) <= SHORT_SETTINGS else f"in [{Path(link).name}]({link}) under `about`"
    machine = about["machine"]
    today = other_settings(result, outcome)
    made = f"privee {about['privee']}, {about['date']}, {machine['cores']} cores, {machine['system']}"
    return (
        f"Figures: {outcome.band}. Made by `{about['command']}` ({made}; {about['seconds']:,g} s beside what earlier "
        f"calls had kept).{_kept_from_before(about)} Settings: {shown}."
        f"{f' **{EARLIER}: {today}.**' if today else ''}"
    )


def _kept_from_before(about: Mapping[str, Any]) -> str:
    """Rows that were measured in another sitting, and with which command."""
    sittings: dict[tuple[str, str], dict[str, None]] = {}
    settings, now = about["settings"], (about["date"], about["command"])
    said = [(e["model"]["dataset"], e["measured"]) for e in settings.get("entries", ()) if "measured" in e]
    for dataset, made in (*said, *settings.get("datasets", {}).items()):
        if (made["date"], made["command"]) != now:
            sittings.setdefault((made["date"], made["command"]), {})[dataset] = None
    return "".join(
        f" Rows of {listed(names)} are older: `{command}`, {date}." for (date, command), names in sittings.items()
    )

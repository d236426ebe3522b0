"""Puts the page together."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from privee.atomic import whole_file
from privee.audit.report import words
from privee.audit.report.curves import curves_chart, queries_until
from privee.audit.report.sections import glance, subject_section
from privee.audit.report.words import GRADES, MARKS
from privee.audit.results import Audit


def render_report(audit: Audit) -> str:
    """The report as HTML; the same audit gives the same text."""
    environment = _environment()
    sections = [subject_section(audit, number) for number in range(1, len(audit.subjects) + 1)]
    return environment.get_template("page.html").render(
        audit=audit,
        sections=sections,
        glance=glance(audit),
        curves=curves_chart(audit.curves, "curves") if audit.curves else None,
    )


def write_report(audit: Audit, path: Path, *, force: bool = False) -> None:
    """Write the report whole or not at all; an existing file is only replaced with `force`."""
    text = render_report(audit)
    with whole_file(path, force=force) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("privee.audit.report"),
        autoescape=True,  # of everything but the style sheet and the charts, which are ours
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": words.number,
        "ratio": words.ratio,
        "percent": words.percent,
        "duration": words.duration,
        "together": words.together,
        "interval": words.interval,
        "breakable": words.breakable,
        "plain": words.plain,
        "heading": words.heading,
        "counted": words.counted,
        "grouped": words.grouped,
        "queries_until": queries_until,
    }
    environment.globals |= {"GRADES": GRADES, "MARKS": MARKS}
    return environment

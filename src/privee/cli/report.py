"""`privee report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privee.cli.output import out, print_json
from privee.given import existing_audit


def report(
    folder: Annotated[Path, typer.Argument(help="The output folder of an audit.")] = Path("audit-output"),
    pdf: Annotated[Path | None, typer.Option(help="Print it to this file as well.")] = None,
    compare: Annotated[
        Path | None, typer.Option(help="An earlier audit, its folder or audit.json: say what changed.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace the PDF file if it exists.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Write an audit's report again from its audit.json, and print it as PDF.

    Example: `privee report audit-output --pdf report.pdf`

    A PDF needs chromium, Chrome (on the path, or named in CHROME) or WeasyPrint.
    """
    for place in (folder, compare):
        if place is not None:
            existing_audit(place)

    from privee.audit.saving import rewrite_report

    files = {"report": rewrite_report(folder, compare=compare)}
    if pdf is not None:
        from privee.audit.report.pdf import write_pdf

        write_pdf(files["report"], pdf, force=force)
        files["pdf"] = pdf
    if as_json:
        print_json({"files": {kind: str(file) for kind, file in files.items()}})
        return
    for kind, file in files.items():
        out.print(f"{'PDF' if kind == 'pdf' else 'Report'}: {file}", markup=False)

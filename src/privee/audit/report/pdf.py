"""The report as PDF: printed by a browser without a window, or by WeasyPrint; nothing is fetched, nothing is opened."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from privee.atomic import whole_file
from privee.errors import PriveeError

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
SECONDS = 180.0
QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
)
NOTHING = (
    "a PDF needs a browser or WeasyPrint: install chromium (or name a Chrome in CHROME), or `pip install weasyprint`"
)


def write_pdf(page: Path, path: Path, *, force: bool = False) -> None:
    """Print a report that was written as HTML; an existing file is only replaced with `force`."""
    with whole_file(path, force=force) as partial:
        browser = find_browser()
        if browser is not None:
            _print_with(browser, page, partial)
        else:
            _print_with_weasyprint(page, partial)


def find_browser() -> str | None:
    """The program that CHROME names, else the first of the usual ones on the path."""
    named = os.environ.get("CHROME")
    if not named:
        return next((found for name in BROWSERS if (found := shutil.which(name))), None)
    found = shutil.which(named)
    if found is None:
        raise PriveeError(f"CHROME names {named}, which is no program")
    return found


def _print_with(browser: str, page: Path, path: Path) -> None:
    """In a profile of its own that is gone afterwards. The sandbox is left out for root, who cannot have one."""
    root = ("--no-sandbox",) if hasattr(os, "geteuid") and os.geteuid() == 0 else ()
    with tempfile.TemporaryDirectory(prefix="privee-pdf-", ignore_cleanup_errors=True) as folder:
        made, log = Path(folder) / "report.pdf", Path(folder) / "log"
        command = [browser, *QUIET, *root, f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}"]
        try:
            with log.open("wb") as output:
                subprocess.run(  # noqa: S603 (a browser that the user has, on a page of ours)
                    [*command, page.resolve().as_uri()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=SECONDS,
                    check=False,
                )
        except subprocess.TimeoutExpired:
            raise PriveeError(f"{browser} did not print the report within {SECONDS:g} s") from None
        if not made.exists() or not made.stat().st_size:
            raise PriveeError(f"{browser} could not print the report: {_last_words(log)}")
        shutil.copyfile(made, path)


def _last_words(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace")[-2000:].strip().splitlines()
    return lines[-1] if lines else "it said nothing"


def _print_with_weasyprint(page: Path, path: Path) -> None:
    """Its newer versions can be told to open nothing but the pictures that the page carries inside."""
    try:
        import weasyprint  # type: ignore[import-not-found,import-untyped,unused-ignore]
        from weasyprint import urls  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except (ImportError, OSError):  # the latter where its own libraries are missing
        raise PriveeError(NOTHING) from None
    fetcher = getattr(urls, "URLFetcher", None)
    limits = {} if fetcher is None else {"url_fetcher": fetcher(allowed_protocols=("data",))}
    weasyprint.HTML(string=page.read_text(encoding="utf-8"), **limits).write_pdf(path)

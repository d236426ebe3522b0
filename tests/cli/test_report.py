"""`privee report`."""

import json
import os
import sys

import pytest

from privee.audit import save_audit
from privee.audit.report import pdf
from tests._support.made_audits import make_loans
from tests._support.odd_audits import only, rebuilt

AUDIT = only(make_loans(seeds=(0,)), "none", "rounding:digits=2")


@pytest.fixture
def saved(tmp_path):
    save_audit(AUDIT, tmp_path / "audit-output")
    return tmp_path / "audit-output"


@pytest.fixture
def printer(tmp_path, monkeypatch):
    """A program in place of a browser: it keeps its arguments and prints one line, or says why not."""

    def make(lines: str) -> None:
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\n{lines}\n")
        program.chmod(0o755)
        monkeypatch.setenv("CHROME", str(program))

    return make


PRINT = 'for a in "$@"; do case "$a" in --print-to-pdf=*) echo "%PDF-1 $*" > "${a#--print-to-pdf=}";; esac; done'


def test_the_report_is_written_again(saved, good, told):
    before = (saved / "report.html").read_bytes()
    (saved / "report.html").unlink()
    assert good("report") == "Report: audit-output/report.html\n"
    assert (saved / "report.html").read_bytes() == before
    assert told("report", saved / "audit.json") == {"files": {"report": str(saved / "report.html")}}


def test_it_is_compared_with_an_earlier_one(saved, good, tmp_path):
    save_audit(rebuilt(AUDIT, about={"date": "2025-01-01"}), tmp_path / "earlier")
    good("report", saved, "--compare", tmp_path / "earlier")
    assert "the audit of 2025-01-01" in (saved / "report.html").read_text()


def test_a_browser_prints_it(saved, privee, printer, told, tmp_path):
    printer(PRINT)
    found = told("report", saved, "--pdf", "out.pdf")
    assert found["files"]["pdf"] == "out.pdf"
    asked = (tmp_path / "out.pdf").read_text()
    assert asked.startswith("%PDF-1 --headless")
    assert asked.endswith(f"{(saved / 'report.html').resolve().as_uri()}\n")
    assert ("--no-sandbox" in asked) == (os.geteuid() == 0)
    code, _, err = privee("report", saved, "--pdf", "out.pdf")
    assert (code, err) == (2, "privee: out.pdf exists already; use --force to replace it\n")
    assert privee("report", saved, "--pdf", "out.pdf", "--force")[0] == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["audit-output", "browser", "out.pdf"]


def test_a_browser_that_fails_is_quoted(saved, privee, printer, tmp_path):
    printer("echo 'a long story' >&2; echo 'no room on the disk' >&2; exit 1")
    code, out, err = privee("report", saved, "--pdf", "out.pdf")
    assert (code, out) == (2, "")
    assert err.endswith("browser could not print the report: no room on the disk\n")
    assert not (tmp_path / "out.pdf").exists()


def test_a_browser_that_hangs_is_ended(saved, privee, printer, monkeypatch):
    printer("exec sleep 60")
    monkeypatch.setattr(pdf, "SECONDS", 0.2)
    code, _, err = privee("report", saved, "--pdf", "out.pdf")
    assert (code, "did not print the report within 0.2 s" in err) == (2, True)


def test_without_a_browser_one_line_says_what_to_install(saved, privee, monkeypatch):
    monkeypatch.delenv("CHROME", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    code, _, err = privee("report", saved, "--pdf", "out.pdf")
    assert code == 2
    assert err == f"privee: {pdf.NOTHING}\n"
    monkeypatch.setenv("CHROME", "/nowhere/chrome")
    assert privee("report", saved, "--pdf", "out.pdf")[2] == (
        "privee: CHROME names /nowhere/chrome, which is no program\n"
    )


def test_what_is_no_audit_is_one_clear_line(privee, tmp_path):
    assert privee("report", "nowhere")[::2] == (2, "privee: nowhere is missing\n")
    (tmp_path / "odd").mkdir()
    assert privee("report", "odd")[2] == "privee: odd/audit.json is missing\n"
    (tmp_path / "odd" / "audit.json").write_text(json.dumps(AUDIT.as_dict() | {"cards": 3}))
    code, _, err = privee("report", "odd")
    assert (code, err) == (2, "privee: odd/audit.json is no audit that can be read: cards is not a list\n")
    assert not (tmp_path / "odd" / "report.html").exists()

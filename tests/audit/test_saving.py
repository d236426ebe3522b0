"""Audits on disk, one after the other: what the report compares with."""

import dataclasses
import json

import pytest

from privee.audit import save_audit
from privee.audit.loading import load_audit
from privee.audit.saving import PREVIOUS, rewrite_report
from privee.errors import PriveeError
from tests._support.made_audits import make_loans
from tests._support.odd_audits import only, rebuilt

FIRST = only(make_loans(seeds=(0,)), "none", "top-k")
FIRST = rebuilt(FIRST, about={"date": "2025-01-01"})


def regraded(audit, grade: str, date: str):
    """The scores as they are get another grade."""
    cards = (dataclasses.replace(audit.cards[0], grade=grade), *audit.cards[1:])
    return rebuilt(audit, cards=cards, about={"date": date})


SECOND, THIRD = regraded(FIRST, "weak", "2025-02-02"), regraded(FIRST, "partial", "2025-03-03")


def since(folder) -> str:
    """The audit that the report compares with, by its date; "" if it compares with none."""
    page = (folder / "report.html").read_text(encoding="utf-8")
    return next((date for date in ("2025-01-01", "2025-02-03") if f"the audit of {date}" in page), "")


def test_the_report_compares_with_what_was_there(tmp_path):
    save_audit(FIRST, tmp_path)
    assert since(tmp_path) == ""
    assert not (tmp_path / PREVIOUS).exists()
    save_audit(SECOND, tmp_path)
    assert since(tmp_path) == "2025-01-01"
    assert load_audit(tmp_path) == SECOND
    save_audit(rebuilt(SECOND, about={"date": "2025-02-03"}), tmp_path)  # the same command again
    assert since(tmp_path) == "2025-01-01"
    save_audit(THIRD, tmp_path)
    assert since(tmp_path) == "2025-02-03"
    kept = json.loads((tmp_path / PREVIOUS).read_text())
    assert (kept["findings"], kept["subjects"][0]["picture"]) == ([], None)


def test_the_report_can_be_written_again_with_the_same_comparison(tmp_path):
    save_audit(FIRST, tmp_path)
    files = save_audit(SECOND, tmp_path)
    before = files["report"].read_bytes()
    files["report"].unlink()
    assert rewrite_report(tmp_path) == files["report"]
    assert files["report"].read_bytes() == before
    assert rewrite_report(files["json"]) == files["report"]
    assert files["report"].read_bytes() == before


def test_any_audit_can_be_compared_with(tmp_path):
    save_audit(FIRST, tmp_path / "old")
    save_audit(SECOND, tmp_path / "new")
    save_audit(THIRD, tmp_path / "new", compare=tmp_path / "old" / "audit.json")
    assert since(tmp_path / "new") == "2025-01-01"
    assert rewrite_report(tmp_path / "new")
    assert since(tmp_path / "new") == "2025-01-01"
    rewrite_report(tmp_path / "old", compare=tmp_path / "old")
    assert since(tmp_path / "old") == "2025-01-01"


def test_a_damaged_file_that_nobody_named_is_replaced_and_a_named_one_refused(tmp_path):
    (tmp_path / "audit.json").write_text("{")
    save_audit(FIRST, tmp_path)
    assert since(tmp_path) == ""
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(PriveeError, match="no audit that can be read"):
        save_audit(SECOND, tmp_path, compare=tmp_path / "other.json")
    assert load_audit(tmp_path) == FIRST  # nothing was written

"""The report, the diagrams, and what the printed figures cannot be."""

import dataclasses
import json
import re
from pathlib import Path

import pytest

from privee.errors import PriveeError
from privee.paper import Account, Bench, Outcome, Row, Value, known_results, load_outcome, measure_result, save_outcome
from privee.paper.measure.contradictions import met_as
from privee.paper.report.markdown import page as whole_page
from privee.paper.report.markdown import write_report
from privee.paper.report.markdown_tables import tables
from privee.paper.results.diagrams import Diagrams

BENCH = Bench("quick", Path("unused"))
ABOUT = {
    "privee": "0",
    "date": "2026-01-01 00:00 UTC",
    "seconds": 1.5,
    "command": "privee paper run made",
    "settings": {"draws": 3},
    "machine": {"cores": 2, "system": "Linux", "python": "3", "numpy": "2"},
}


def residual(guess, release):
    return ((guess - release) ** 2).mean(axis=1)


def attack_row(dataset, defense, attacker, residual, features, printed=None):
    values = {"confidence_residual": residual, "feature_mse": features, "guess_normalised": features / 2}
    return Row(
        where={"dataset": dataset, "known": "50 %", "defense": defense, "attacker": attacker},
        measured={name: Value(value=v, low=v - 0.25, high=v + 0.25, count=3) for name, v in values.items()},
        printed={} if printed is None else {"confidence_residual": Value(value=printed)},
    )


def attack_outcome() -> Outcome:
    rows = tuple(
        attack_row(
            dataset, f"defense-{k}", attacker, 10.0 * k + j, 1.0 + k, None if attacker == "adaptive" else 10.0 * k + j
        )
        for j, dataset in enumerate(("mnist", "drive"))
        for k in range(1, 9)
        for attacker in ("naive", "adaptive")
    )
    return made("grna-50", rows, Account(agrees=False, printed="figures", measured="others", reason="a | b"))


def made(name, rows, account=None):
    return Outcome(
        name=name,
        title=f"title of {name}",
        size="quick",
        band="mean and 95 % interval",
        rows=tuple(rows),
        account=account or Account(agrees=None, printed="nothing", measured="something"),
        about=ABOUT,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three results of different kinds."""
    plain = [
        Row(
            where={"dataset": f"set-{k}", "model": "mlp"},
            measured={"test_accuracy": Value(value=k)},
            printed={"test_accuracy": Value(value=50.0)},
        )
        for k in range(40)
    ]
    found = tmp_path_factory.mktemp("report") / "results"
    for outcome in (attack_outcome(), made("baseline-accuracy", plain), measure_result(Diagrams(), BENCH)):
        save_outcome(outcome, found)
    return found


@pytest.fixture(scope="module")
def page(folder):
    return write_report(folder, folder.parent / "docs" / "paper.md")


def test_the_overview_names_every_result(page):
    text = page.read_text()
    overview = text[text.index("## Overview") : text.index("## Printed")]
    for name, result in known_results().items():
        (line,) = [line for line in overview.splitlines() if re.match(rf"\| \[?{re.escape(name)}[\] ]", line)]
        assert result.source in line
        measured_here = name in {"grna-50", "baseline-accuracy", "diagrams"}
        assert ("not run here" in line) != measured_here
    assert "| 16 figures called feature MSE | within 15% of our confidence residual: 16 (" in overview
    assert f"Of {len(known_results())} results, 3 were measured here" in text


def test_the_report_judges_by_the_rows_whatever_was_said_when_they_were_measured(page):
    assert json.loads((page.parent / "paper" / "grna-50.json").read_text())["account"]["agrees"] is True
    assert attack_outcome().account.agrees is False


def test_words_cannot_break_the_overview():
    text = whole_page({"grna-50": attack_outcome()}, "paper", pictured=set())
    assert "| figures | others | no | a \\| b |" in text


def test_links_lead_somewhere(page):
    text = page.read_text()
    headings = {line.removeprefix("## ") for line in text.splitlines() if line.startswith("## ")}
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 50
    for link in links:
        assert link[1:] in headings if link.startswith("#") else (page.parent / link).is_file()
    assert "![title of grna-50]" not in text  # it has no picture
    assert (page.parent / "paper" / "diagrams.png").is_file()


def test_every_line_of_an_attack_table_names_its_rows(page):
    section = page.read_text().split("## grna-50\n")[1].split("\n## ")[0]
    assert re.findall(r"^\*(.*)\*$", section, flags=re.MULTILINE) == [
        "dataset mnist, known 50 %",
        "dataset drive, known 50 %",
    ]
    stored = json.loads((page.parent / "paper" / "grna-50.json").read_text())["rows"]
    lines = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \| .* \| \[rows (\d+) to (\d+)\]", section, flags=re.MULTILINE)
    assert len(lines) == 16
    for spec, printed, ours, first, last in lines:
        naive, adaptive = stored[int(first)], stored[int(last)]
        assert (naive["where"]["defense"], naive["where"]["attacker"], adaptive["where"]["attacker"]) == (
            spec,
            "naive",
            "adaptive",
        )
        assert float(printed) == naive["printed"]["confidence_residual"]["value"]
        assert ours == f"{naive['measured']['confidence_residual']['value']:g} ± 0.25"


def test_few_defenses_share_one_table():
    rows = [
        attack_row(d, spec, who, 1.0, 1.0) for d in ("a", "b") for spec in ("x", "y") for who in ("naive", "adaptive")
    ]
    text = tables(made("amplitude", rows), "amplitude.json")
    assert text.count("| defense |") == 1
    assert "| b | 50 % | `y` | - | 1 ± 0.25 |" in text


def test_curves_have_a_column_for_each_number_of_queries():
    rows = [
        Row(
            where={"dataset": "digits", "rho": 0.1, "queries": queries},
            measured={"minimum": Value(value=1 / queries, low=0.5 / queries, high=1.5 / queries)},
        )
        for queries in (1, 10)
    ]
    text = tables(made("repeated-queries", rows), "x.json")
    assert "| dataset | rho | figure | 1 | 10 | rows |" in text
    assert "| digits | 0.1 | minimum | 1 | 0.1 | [rows 0 to 1](x.json) |" in text


def test_long_tables_are_folded_and_settings_given(page):
    section = page.read_text().split("## baseline-accuracy\n")[1].split("\n## ")[0]
    assert "<details><summary>All 40 rows</summary>" in section
    assert "| set-7 | mlp | 7 | 50 | [row 7](paper/baseline-accuracy.json) |" in section
    assert "Made by `privee paper run made`" in section
    assert '`{"draws": 3}`' in section


def test_the_notes_count_what_was_compared(page):
    text = page.read_text()
    assert met_as([attack_outcome()]) == (16, {"confidence_residual": 16, "feature_mse": 0})
    assert (
        "Of 16 printed figures compared in the tables of this page, 16 lie within 15% of our confidence residual"
        in text
    )
    assert "18.06 in the table by clients, 5.48 in the table by rho, 3.3 times apart" in text


def test_a_report_in_the_folder_of_its_results_and_again(page, folder):
    first = page.read_bytes()
    again = write_report(page.parent / "paper", page)
    assert again.read_bytes() == first
    there, here = (load_outcome(some / "grna-50.json") for some in (page.parent / "paper", folder))
    assert dataclasses.replace(there, account=here.account) == here


def test_what_cannot_be_reported(tmp_path):
    with pytest.raises(PriveeError, match="there is no folder"):
        write_report(tmp_path / "nowhere", tmp_path / "paper.md")
    with pytest.raises(PriveeError, match="holds no results"):
        write_report(tmp_path, tmp_path / "paper.md")
    save_outcome(attack_outcome(), tmp_path)
    with pytest.raises(PriveeError, match=r"ends in \.md"):
        write_report(tmp_path, tmp_path / "paper")
    (tmp_path / "runtime.json").write_text("{}")
    with pytest.raises(PriveeError, match="does not hold a result"):
        write_report(tmp_path, tmp_path / "paper.md")
    assert not (tmp_path / "paper.md").exists()

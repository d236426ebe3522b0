"""An audit grades a release by the column that is told best, and names it; a release that says nothing is guarded."""

import json

import pytest

from privee.audit import Grid, run_grid, save_audit
from privee.errors import SettingError
from tests._support.telling_table import telling_subject

ATTACKS = ("boosted-trees", "logistic-regression:own_columns=false", "learned-inversion")


def audited(subject, *defenses, **more):
    grid = Grid(defenses=defenses, attacks=ATTACKS, seeds=(0,), curves=False, **more)
    return run_grid([subject], grid, jobs=1)


@pytest.fixture(scope="module")
def found():
    return audited(telling_subject().marked(["bureau:loan"]), "none", "label-only")


def test_the_grade_is_that_of_the_worst_column(found):
    card = found.card("none")
    assert (card.worst.name, card.worst.party, card.worst.by) == ("outcome", "calls", "success")
    assert card.worst.auc > 0.95
    assert card.worst.guess_auc < 0.7
    assert card.grade in ("open", "weak")
    assert (card.mean_grade, card.guess_normalised > 0.8) == ("partial", True)  # the mean hides it
    assert "outcome = success (calls) is told with AUC" in card.verdict
    assert {column.name for column in card.columns} == {"outcome", "campaign", "month", "loan"}
    assert next(column for column in card.columns if column.name == "loan").sensitive
    assert next(column for column in card.columns if column.name == "month").grade == "guarded"


def test_what_a_release_is_worth_is_measured_between_records_too(found):
    none, label = found.card("none"), found.card("label-only")
    assert found.subjects[0].utility.auc == pytest.approx(none.utility.auc)
    assert none.order_between == pytest.approx(1)
    assert label.label_kept == 1
    assert label.order_between < 0.6
    assert label.utility.auc < none.utility.auc - 0.05
    assert found.subjects[0].majority.auc == 0.5


def test_people_are_counted_too(found):
    people = found.card("none").people
    assert people.records == found.subjects[0].column_records == 750
    assert people.newly > people.lost + 0.02  # about those who had success
    assert people.most_exposed < 0.5


def test_it_survives_a_file(found, tmp_path):
    files = save_audit(found, tmp_path)
    told = json.loads(files["json"].read_text())
    worst = next(card for card in told["cards"] if card["defense"] == "none")["columns"][0]
    assert (worst["name"], worst["party"]) == ("outcome", "calls")
    assert {column["name"] for column in told["subjects"][0]["columns"]} == {"outcome", "campaign", "month", "loan"}


def test_releases_of_a_model_that_ignores_the_private_columns_are_guarded():
    (card,) = audited(telling_subject(500, ignores=True), "none").cards
    assert (card.grade, [column.grade for column in card.columns]) == ("guarded", ["guarded"] * 4)


def test_an_unknown_sensitive_column_is_refused():
    with pytest.raises(SettingError, match="no private column is called 'age'; there are outcome, campaign, month"):
        telling_subject(50).marked(["age"])


def test_an_interrupted_audit_keeps_what_it_found_about_columns(tmp_path):
    subject = telling_subject(300)
    grid = Grid(defenses=("none",), attacks=("logistic-regression",), seeds=(0,), curves=False)
    first = run_grid([subject], grid, jobs=1, folder=tmp_path)
    again = run_grid([subject], grid, jobs=1, folder=tmp_path)
    assert again.cards == first.cards
    assert len((tmp_path / "findings.jsonl").read_text().splitlines()) == 1


def test_no_auxiliary_rows_for_anyone():
    """A threat model without known rows holds for attacks on single columns as well."""
    grid = Grid(defenses=("none",), attacks=("boosted-trees",), seeds=(0,), auxiliary_rows=0, curves=False)
    card = run_grid([telling_subject(100)], grid, jobs=1).card("none")
    assert card.skipped == {"boosted-trees (adaptive)": "needs auxiliary rows"}

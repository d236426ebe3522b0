"""docs/performance.md says what is stored: it is what `python benchmarks/growth.py --page` writes, to the letter."""

import copy

import pytest
from benchmarks._growth import growth_page, markdown, page


def test_the_page_is_what_the_command_writes_from_the_stored_results():
    shown = page.PAGE.read_text(encoding="utf-8")
    assert shown == page.made(), "run python benchmarks/growth.py --page"
    assert shown.count("\n| ") > 100
    assert "images/growth.svg" in shown


def test_another_figure_would_be_another_page(monkeypatch):
    stored = copy.deepcopy(markdown.stored("growth"))
    stored["cells"]["protect, csv, 1,000,000 rows"]["peak_mb"] = 98_765
    monkeypatch.setattr(growth_page, "stored", lambda name: stored)
    assert "98765 MB" in page.made() != page.PAGE.read_text(encoding="utf-8")


def test_every_result_with_a_speed_is_on_the_page():
    """Those that are not hold no speed: what attacks leave, what models are worth, what a red team tried."""
    shown = page.PAGE.read_text(encoding="utf-8")
    stored = {path.stem for path in markdown.RESULTS.glob("*.json")}
    missing = {name for name in stored if f"results/{name}.json" not in shown}
    assert missing <= {
        *("attack_figures", "chosen_columns", "embedding_defenses", "false_alarms", "field_attacks", "frontier"),
        *("federation_same_result", "gateway_faults", "record_order", "red_team", "rivals", "sealed_codes_brief"),
        *("sealed_columns", "sealed_frontier"),
    }


@pytest.mark.parametrize(
    ("value", "shown"), [(0, "0"), (None, "-"), (0.0771, "0.077"), (1234.5, "1,200"), (7.04, "7"), (99.6, "100")]
)
def test_figures_have_two_digits_that_count(value, shown):
    assert markdown.figure(value) == shown


def test_sizes_and_seconds_in_words():
    assert [markdown.size(count) for count in (12, 2600, 1.9e6, 2.4e9)] == ["12 bytes", "2.6 KB", "1.9 MB", "2.4 GB"]
    assert [markdown.seconds(value) for value in (240, 93, 0.87, 1.2e-5)] == ["4 minutes", "93 s", "870 ms", "12 us"]

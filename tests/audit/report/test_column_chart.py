"""The picture by column: which ones it shows, and where."""

import dataclasses
import re

import pytest

from privee.audit.report.charts import fitted, text_size
from privee.audit.report.column_chart import ROW, TOP, chosen_rows, column_chart
from tests._support.made_audits import make_loans
from tests._support.odd_audits import NAMES, wide

CARDS = {card.defense: card for card in make_loans(seeds=(0,)).cards}


def marks(svg: str) -> list[tuple[float, float]]:
    """Places of the marks of columns, in the order drawn; the grades above the frame and the ticks are left out."""
    found = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="[^"]*stroke-width', svg)
    return [(float(x), float(y)) for x, y in found if TOP < float(y) < TOP + 12 * ROW]


def test_sensitive_columns_come_first_then_the_worst():
    rows = [column.name for column in chosen_rows(CARDS["none"].columns)]
    assert rows[:5] == ["previous outcome", "balance", "in default", "call duration", "months since contact"]
    assert len(rows) == 12
    many = [dataclasses.replace(column, sensitive=True) for column in CARDS["none"].columns]
    assert chosen_rows(many) == many


def test_one_mark_for_the_scores_and_one_for_what_is_advised():
    alone = column_chart(CARDS["none"], None, "c", "loans")
    both = column_chart(CARDS["none"], CARDS["rounding:digits=2"], "c", "loans")
    assert (alone.shown, alone.more, alone.more_sensitive) == (12, 2, 0)
    assert len(marks(alone.svg)) == 12
    found = marks(both.svg)
    assert len(found) == 24
    bare, advised = found[0::2], found[1::2]
    assert [x for x, _ in bare] == [x for x, _ in marks(alone.svg)]
    assert [x for x, _ in bare[3:]] == sorted(x for x, _ in bare[3:])  # the worst one first
    assert all(mine[0] >= theirs[0] for mine, theirs in zip(advised, bare, strict=True))
    assert all(0 < mine[1] - theirs[1] < 19 for mine, theirs in zip(advised, bare, strict=True))
    assert "previous outcome of telco: 0.05 (open), then 0.80 (partial)" in both.svg
    for words in (">★ previous outcome<", ">marital status ?<", ">telco<", ">registry<", ">told<", ">nothing told<"):
        assert words in both.svg


def test_a_column_that_only_the_scores_tell_has_one_mark():
    less = dataclasses.replace(CARDS["top-k"], columns=CARDS["top-k"].columns[1:])
    assert len(marks(column_chart(CARDS["none"], less, "c", "loans").svg)) == 23


def test_without_columns_there_is_no_picture():
    assert column_chart(dataclasses.replace(CARDS["none"], columns=()), None, "c", "loans") is None


def test_hundreds_of_sensitive_columns_leave_the_page_readable():
    found = column_chart(wide().cards[0], None, "c", "wide")
    assert (found.shown, found.more, found.more_sensitive) == (40, 360, 10)


@pytest.mark.parametrize("text", [*NAMES, "W" * 500, "苗" * 500])
def test_names_are_cut_to_fit(text):
    cut = fitted(text, 10.5, 100)
    assert text_size(cut, 10.5)[0] <= 100
    assert cut
    assert "\n" not in cut

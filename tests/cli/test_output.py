"""Progress where there is no terminal: silent at first, then a line now and then, never twice the same."""

import pytest

from privee.cli import output


@pytest.fixture
def lines(monkeypatch, capsys):
    def said(*calls):
        with output.progress_bar("attacking") as progress:
            for call in calls:
                progress(*call)
        return capsys.readouterr().err.splitlines()

    return said


def test_what_is_done_soon_says_nothing(lines):
    assert lines((1, 4), (4, 4)) == []


def test_long_work_says_how_far_it_is(lines, monkeypatch):
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.0)
    first, last = lines((1, 4), (4, 4))
    assert first.startswith("privee: attacking: 1 of 4 (25%)")
    assert last == "privee: attacking: 4 of 4 (100%)"


def test_phases_without_a_count_are_named_once(lines, monkeypatch):
    monkeypatch.setattr(output, "SECONDS_BETWEEN_LINES", 0.0)
    assert lines((0, 0, "submitted"), (0, 0, "submitted"), (1, 2, "training")) == [
        "privee: submitted",
        "privee: training: 1 of 2 (50%), about 10 s left",
    ]

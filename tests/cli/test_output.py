"""Progress where there is no terminal: silent at first, then a line now and then, never twice the same."""

import io

import pytest
from rich.console import Console

from privee.cli import output
from privee.progress import TimeLeft


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
        "privee: training: 1 of 2 (50%)",
    ]


def test_an_estimate_is_told_once_it_means_something(monkeypatch, capsys):
    """By the clock: 40 of 100 lay there already, the others take two seconds each."""
    now = [100.0]
    monkeypatch.setattr(output.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(output, "TimeLeft", lambda: TimeLeft(clock=lambda: now[0]))
    with output.progress_bar("attacking") as progress:
        for done in range(40, 101):
            progress(done, 100)
            now[0] += 2.0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "privee: attacking: 45 of 100 (45%)"
    assert said[1] == "privee: attacking: 50 of 100 (50%), about 100 s left"


def test_a_bar_on_a_terminal_tells_the_same(monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(output, "err", Console(file=text, force_terminal=True, width=100))
    now = [0.0]
    monkeypatch.setattr(output, "TimeLeft", lambda: TimeLeft(clock=lambda: now[0]))
    with output.progress_bar("attacking") as progress:
        progress(90, 100)
        now[0] = 30.0
        progress(95, 100)
    assert "95%" in text.getvalue()
    assert "about 30 s left" in text.getvalue()

"""How long it still takes: told from the recent speed, and not before there is one."""

import pytest

from privee.progress import TimeLeft, about


def told(reports):
    """What is told after each (seconds, done, size)."""
    now = [0.0]
    left, found = TimeLeft(clock=lambda: now[0]), []
    for now[0], done, size in reports:
        found.append(left.after(done, size))
    return found


@pytest.mark.parametrize(
    "reports",
    [
        [(0, 0, 100), (7, 1, 100)],  # a hundredth is done: that told of 690 s once
        [(0, 0, 100), (70, 9, 100)],
        [(0, 0, 100), (9, 50, 100)],  # too short a time
        [(0, 50, 100), (60, 52, 100)],  # what lay there already is not counted
        [(0, 0, 100), (60, 100, 100)],
        [(60, 1, 100)],
        [(0, 0, 0), (60, 0, 0)],
        [(0, 0, None), (60, 5, None)],  # as a job that is only submitted is followed
        [(0, 5, 100), (60, 0, None), (61, 6, 100)],
    ],
)
def test_nothing_is_told_before_it_means_something(reports):
    assert told(reports)[-1] is None


def test_even_work_is_told_as_it_is():
    found = told((second, second, 200) for second in range(200))
    assert found[:20] == [None] * 20
    assert found[20:] == [pytest.approx(200 - second) for second in range(20, 200)]


def test_what_lay_there_already_is_no_speed():
    """Whether it is told as a start, or one by one in no time."""
    start = told((10 * n, 500 + n, 600) for n in range(11))
    assert start == [*[None] * 10, pytest.approx(900)]
    one_by_one = [(n / 1000, n, 600) for n in range(501)] + [(10 * n, 500 + n, 600) for n in range(1, 10)]
    assert told(one_by_one)[-1] == pytest.approx(91 * 10)


def test_work_that_becomes_slower_is_noticed():
    quick = [(second, second, 400) for second in range(101)]
    slow = [(100 + 10 * n, 100 + n, 400) for n in range(1, 101)]
    assert told(quick + slow)[-1] == pytest.approx(2000, rel=0.01)


def test_longest_attacks_first_as_audits_have_them():
    """As the demo went: what was told was four times too long, from the mean speed and from half of the time alike."""
    done = [0, 1, 4, 8, 13, 16, 19, 37, 60, 83, 103, 121, 139, 153, 168, 182]
    found = told((10 * n, count, 236) for n, count in enumerate(done))
    assert found[:7] == [None] * 7
    really = [10 * (len(done) + 3 - n) for n in range(len(done))]  # to the end, some 30 seconds after the last line
    assert all(0.4 * real < left < 2 * real for left, real in zip(found[7:], really[7:], strict=True))


def test_another_piece_of_work_begins_anew():
    first = [(second, second, 100) for second in range(101)]
    assert told([*first, (101, 0, 100), (105, 50, 100)])[-1] is None
    assert told([*first, (101, 0, 60), (131, 30, 60)])[-1] == pytest.approx(30)


def test_many_reports_keep_little():
    now = [0.0]
    left = TimeLeft(clock=lambda: now[0])
    for done in range(100_000):
        now[0] = done / 10_000
        left.after(done, 200_000)
    assert len(left._seen) < 200


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.5, "about 10 s left"),
        (115, "about 120 s left"),
        (121, "about 3 min left"),
        (1e4, "about 3 h left"),
    ],
)
def test_in_words(seconds, words):
    assert about(seconds) == words

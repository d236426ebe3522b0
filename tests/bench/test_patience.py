"""How long a leaderboard takes is not said from its first minutes, which are its slowest."""

from privee.bench.patience import EARLY, patient
from privee.progress import TimeLeft


def test_no_time_left_is_told_early_and_later_only_from_what_was_done_since():
    now, told = [0.0], []
    left = TimeLeft(clock=lambda: now[0])
    progress = patient(lambda done, of, what: told.append((left.after(done, of), of, what)), clock=lambda: now[0])
    for second in range(0, int(EARLY), 10):  # one cell in ten seconds: 8000 s for 800
        now[0] = float(second)
        progress(second // 10, 800, "once")
    assert {(seconds, of) for seconds, of, _ in told} == {(None, None)}
    assert told[3][2] == "once: 3 of 800"
    for more in range(200):  # then two in a second
        now[0] = EARLY + more / 2
        progress(12 + more, 800, "ten")
    seconds, of, words = told[-1]
    assert (of, words) == (800, "ten")
    assert 250 < seconds < 350

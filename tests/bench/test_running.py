"""Small real leaderboards: kept as they are measured, resumed, stopped, and never mixed with others."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from privee.audit import subject_from_arrays
from privee.audit.subject import Sample
from privee.bench import Bench, load_board, make_board, save_board
from privee.bench.cells import cells_of
from privee.bench.guesses import RememberedGuesses
from privee.bench.running import TimeIsUpError
from privee.bench.waves import waves_of
from privee.errors import PriveeError, SettingError
from tests._support.own_models import columns, numpy_model
from tests.bench.small import ATTACKS, SIZE, lines, measure, plan


def test_every_column_of_every_row_is_there(measured):
    _, _, done, board = measured
    assert (done.measured, done.planned, done.others, done.stopped) == (13, 13, 0, False)
    assert [row.what for row in board.rows] == ["none", "ordered-dp:epsilon=4", "seal:codes=4"]
    assert board.about["not_begun"] == []
    for row in board.rows:
        assert row.missing == ()
        assert None not in (row.once, row.ten, row.chosen, row.least)
        assert {"l1_moved", "ranking_kept", "top_kept", "accuracy", "auc", "calibration_error"} <= set(row.worth)
        assert set(row.worth["structure"]) == {"distances", "distance_order", "inner_products", "correlations"}


def test_what_is_not_begun_is_named(measured):
    folder, wanted, done, _ = measured
    more = dataclasses.replace(wanted, defenses=(*wanted.defenses, "label-only"))
    assert make_board(more, folder, done, "test").about["not_begun"] == ["label-only"]


def test_what_the_rows_say_is_so(measured):
    """30 records of digits: the scores give more away than Ordered-DP when asked once, and both give way to choice."""
    none, ordered, sealed = measured[3].rows
    assert none.once.mean < ordered.once.mean < 1
    assert ordered.chosen.mean < ordered.once.mean - 0.05
    assert none.ten == none.once  # the same release again
    assert none.worth["l1_moved"] == 0 < ordered.worth["l1_moved"]
    assert ordered.worth["ranking_kept"] == 1
    assert (none.coordinator, ordered.coordinator) == (None, None)
    assert sealed.coordinator.mean < 1
    assert sealed.chosen.mean > ordered.chosen.mean
    assert sealed.worth["l1_moved"] > 0
    assert sealed.worth["ranking_kept"] < 1


def test_nothing_is_measured_twice(measured, monkeypatch):
    folder, wanted, _, board = measured
    before = lines(folder)

    def refuse(*_):
        raise AssertionError("loaded again")

    monkeypatch.setattr("privee.bench.running.subject_of", refuse)
    done, again = measure(folder, wanted)
    assert again.rows == board.rows
    assert lines(folder) == before
    assert done.measured == done.planned


def test_another_setting_is_measured_by_itself_and_the_first_is_left_alone(measured, tmp_path):
    folder, wanted, _, board = measured
    other = plan(size=dataclasses.replace(SIZE, records=25, parts=("once",)), defenses=("none",))
    done, found = measure(folder, other)
    assert found.rows[0].once.records == 25
    assert board.rows[0].once.records == 30
    assert done.planned == 2
    assert done.others == 13 - 1  # what is kept and moved is the same cell in both
    assert make_board(wanted, folder, done, "test").rows == board.rows


def test_a_new_defense_or_attack_adds_to_what_is_there(measured):
    folder, _, _, board = measured
    done, found = measure(folder, plan(defenses=("none", "ordered-dp:epsilon=4", "rounding:digits=2")))
    assert found.rows[:2] == board.rows[:2]
    assert found.rows[2].defense == "rounding:digits=2"
    assert done.planned == 12


def test_a_changed_source_file_is_measured_again(measured, monkeypatch):
    folder, _, _, _ = measured
    wanted = plan(size=dataclasses.replace(SIZE, parts=("once",)), defenses=("none",))
    before = len(lines(folder))
    measure(folder, wanted)
    assert len(lines(folder)) == before
    monkeypatch.setattr("privee.bench.cells.source_mark", lambda cls: "changed")
    measure(folder, wanted)
    assert len(lines(folder)) == before + 2


def test_it_stops_when_its_minutes_are_over_and_goes_on(tmp_path):
    wanted, told = plan(size=dataclasses.replace(SIZE, parts=("once",))), []
    first = Bench(plan=wanted, folder=tmp_path, jobs=1, minutes=1e-6, progress=lambda *said: told.append(said)).run()
    assert (first.stopped, first.measured) == (True, 0)
    with pytest.raises(PriveeError, match="stopped before anything was measured"):
        make_board(wanted, tmp_path, first, "test")
    second, board = measure(tmp_path, wanted)
    assert (second.stopped, second.measured) == (False, 4)
    assert board.rows[0].once is not None


def test_what_was_found_before_the_end_is_kept(tmp_path):
    """The time is up within a part: what its attacks found is on disk, and used when it goes on."""
    wanted = plan(size=dataclasses.replace(SIZE, parts=("once",)))

    def enough(done, of, what):
        if "once" in what and len(lines(tmp_path)) == 3:
            raise TimeIsUpError

    done = Bench(plan=wanted, folder=tmp_path, jobs=1, progress=enough).run()
    assert (done.stopped, done.measured) == (True, 2)
    kept = lines(tmp_path)
    assert len(kept) == 3
    board = measure(tmp_path, wanted)[1]
    assert lines(tmp_path)[:3] == kept
    assert len(lines(tmp_path)) == 4
    assert all(row.missing == () for row in board.rows)


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on(tmp_path):
    """The real command, ended by SIGKILL after its first findings: no cell is torn, and none is found twice."""
    line = (
        "bench --datasets breast-cancer --models logistic -d none -d ordered-dp:epsilon=4 --protections none --jobs 1"
    )
    named = "-a prior-informed -a learned-inversion -a equation-solving"
    command = [sys.executable, "-m", "privee", *line.split(), *named.split(), "-o", "kept", "--json"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=-3, stderr=-3)  # noqa: S603 (our own interpreter)
    until = time.monotonic() + 240
    while not lines(tmp_path / "kept") and process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    before = lines(tmp_path / "kept")
    assert before
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=os.environ, check=False)  # noqa: S603
    assert done.returncode == 0, done.stderr
    board = json.loads(done.stdout)
    assert board["about"]["done"]["measured"] == board["about"]["done"]["planned"]
    assert [row["missing"] for row in board["rows"]] == [[], []]
    after = lines(tmp_path / "kept")
    assert after[: len(before)] == before
    assert len(set(after)) == len(after)
    assert json.loads(json.dumps(load_board(tmp_path / "kept").as_dict())) == board


def test_a_defense_that_cannot_be_used_is_told_and_not_attacked(tmp_path):
    wanted = plan(size=dataclasses.replace(SIZE, parts=("once",)), defenses=("none", "privee-u+:schedule=[0.1,0.2]"))
    done, board = measure(tmp_path, wanted)
    assert done.measured == done.planned == 3
    assert "2 rank positions" in board.rows[1].reason
    save_board(board, tmp_path / "leaderboard.json")
    assert load_board(tmp_path).rows == board.rows


def test_the_protections_of_a_model_are_measured_side_by_side(tmp_path):
    """One row each: by themselves they would keep one core busy. Later parts come after all models, by themselves."""
    size = dataclasses.replace(SIZE, parts=("once", "chosen", "once-others"))
    wanted = plan(size=size, protections=("seal:codes=4", "seal:codes=8"), attacks=(*ATTACKS, "grna-paper"))
    planned = [(batch, cells_of(wanted, batch)) for batch in wanted.batches]
    waves = [[(batch.case.protection, batch.what) for batch, _ in wave] for wave in waves_of(planned)]
    seals = ("seal:codes=4", "seal:codes=8")
    assert waves == [
        [("", "worth")],
        [("", "once")],
        [("", "chosen")],
        [(seal, what) for seal in seals for what in ("worth", "once", "chosen")],
        [("", "once-others")],
        [(seal, "once-others") for seal in seals],
    ]


def test_guesses_are_worked_out_once_for_the_same_records(monkeypatch):
    """Also behind another model; not for other records, another seed, or column by column."""
    counted = []
    usual = Sample.guesses
    monkeypatch.setattr(
        Sample, "guesses", lambda self, seed, **more: (counted.append(seed), usual(self, seed, **more))[1]
    )
    guesses = RememberedGuesses()
    active, passive = columns(60)
    one, other = (
        subject_from_arrays(model, active, passive) for model in (numpy_model, lambda a, p: numpy_model(a, p)[:, ::-1])
    )
    first = guesses(one.sample(0, 10, 20), 0)
    assert guesses(other.sample(0, 10, 20), 0) is first
    assert len(counted) == 1
    for sample, seed in ((one.sample(1, 10, 20), 0), (one.sample(0, 10, 20), 1), (one.sample(0, 10, 21), 0)):
        guesses(sample, seed)
    assert len(counted) == 4
    assert set(guesses(one.sample(0, 10, 20), 0, by_column=True)) > set(first)


@pytest.mark.parametrize("given", [{"minutes": 0.0}, {"minutes": float("nan")}, {"jobs": 0}])
def test_nonsense_is_refused(given, tmp_path):
    with pytest.raises(SettingError):
        Bench(plan=plan(), folder=tmp_path, **given)

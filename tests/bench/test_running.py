"""Small real leaderboards: kept as they are measured, resumed, stopped, and never mixed with others."""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from privee.atomic import alone_in
from privee.audit import subject_from_arrays
from privee.audit.subject import Sample
from privee.bench import SIZES, Bench, Plan, load_board, make_board, save_board
from privee.bench import cases as bench_cases
from privee.bench.cells import CellFolder, cells_of
from privee.bench.guesses import RememberedGuesses
from privee.bench.page_notes import not_in_it
from privee.bench.running import TimeIsUpError
from privee.bench.waves import waves_of
from privee.errors import PriveeError, SettingError, TakenError
from privee.vfl.training import TrainingSettings
from tests._support.own_models import columns, numpy_model

SIZE = dataclasses.replace(
    SIZES["quick"],
    records=30,
    auxiliary_rows=150,
    column_limit=100,
    worth_rows=60,
    parts=("once", "chosen", "ten", "sent"),
)
ATTACKS = ("equation-solving", "learned-inversion:simulations=1", "chosen-columns:questions=5", "sealed-code")
SHORT = TrainingSettings(epochs=12, batch_size=32, learning_rate=2e-2)


@pytest.fixture(autouse=True)
def short_training(monkeypatch):
    monkeypatch.setattr(bench_cases, "_training", lambda case, data: SHORT)


def plan(**more):
    given = {"defenses": ("none", "ordered-dp:epsilon=4"), "attacks": ATTACKS, "protections": ()} | more
    return Plan(size=given.pop("size", SIZE), datasets=("digits",), models=("logistic",), **given)


def measure(folder, wanted, **more):
    done = Bench(plan=wanted, folder=folder, jobs=1, **more).run()
    return done, make_board(wanted, folder, done, "test")


def lines(folder):
    files = (folder / "findings").glob("*/findings.jsonl")  # beside them checkpoints come and go
    return [json.loads(line)["key"] for file in files for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A board of two defenses and a seal, and the folder it is kept in."""
    folder = tmp_path_factory.mktemp("bench")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench_cases, "_training", lambda case, data: SHORT)
        wanted = plan(protections=("seal:codes=4",))
        return folder, wanted, *measure(folder, wanted)


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


def test_a_board_from_elsewhere_is_not_measured_again(measured, tmp_path, monkeypatch):
    """Its file is enough: another machine with an empty folder has the same rows, and goes on where it stopped."""
    _, wanted, _, board = measured
    elsewhere = load_board(save_board(board, tmp_path / "known.json"))
    assert elsewhere.rows == board.rows
    more = dataclasses.replace(wanted, defenses=(*wanted.defenses, "label-only"))
    bench = Bench(plan=more, folder=tmp_path / "new", jobs=1, known=elsewhere.rows)
    done = bench.run()
    assert done.measured == done.planned == 17
    found = make_board(more, tmp_path / "new", done, "test", elsewhere)
    assert [row for row in found.rows if row.what != "label-only"] == list(board.rows)
    assert len(list((tmp_path / "new" / "cells").iterdir())) == 4
    monkeypatch.setattr("privee.bench.running.subject_of", lambda *_: pytest.fail("loaded again"))
    assert Bench(plan=wanted, folder=tmp_path / "empty", jobs=1, known=elsewhere.rows).run().measured == 13


def test_rows_measured_otherwise_stand_until_they_are_measured_again(measured, tmp_path):
    _, wanted, done, board = measured
    before = [dataclasses.replace(row, parts={}) for row in board.rows]  # as files of before have them
    known = dataclasses.replace(board, rows=tuple(before))
    kept = make_board(wanted, tmp_path, done, "test", known).rows
    assert [row.older for row in kept] == [True, True, True]
    assert [row.once for row in kept] == [row.once for row in board.rows]
    alone = dataclasses.replace(wanted, defenses=("none",), protections=())
    done = Bench(plan=alone, folder=tmp_path, jobs=1, known=before).run()
    assert done.measured == 4
    again = make_board(wanted, tmp_path, done, "test", known).rows
    assert [row.older for row in again] == [False, True, True]
    assert (again[0].parts, again[0].once) == (board.rows[0].parts, board.rows[0].once)


def test_what_is_measured_by_a_plan_without_chosen_attacks_takes_the_place_of_what_is_known(measured, tmp_path):
    """It can never ask in all three ways; a known row that did stands only while something of the plan is missing."""
    _, _, _, known = measured
    wanted = plan(defenses=("none",), attacks=("learned-inversion:simulations=1",))
    begun = Bench(plan=wanted, folder=tmp_path, jobs=1, progress=_until_once).run()
    before = make_board(wanted, tmp_path, begun, "test", known).rows
    assert [(row.older, row.once) for row in before] == [(True, known.rows[0].once)]
    done = Bench(plan=wanted, folder=tmp_path, jobs=1, known=known.rows).run()
    (mine,) = make_board(wanted, tmp_path, done, "test", known).rows
    assert done.measured == done.planned == 3
    assert (mine.older, mine.once.attacks, mine.missing) == (False, 1, ())


def _until_once(done, of, what):
    if "once" in what:
        raise TimeIsUpError


def test_a_row_of_today_that_is_not_finished_is_not_called_older(measured):
    """Another seed is missing, and no cell differs."""
    folder, wanted, done, known = measured
    more = dataclasses.replace(wanted, size=dataclasses.replace(SIZE, seeds=2))
    rows = make_board(more, folder / "nothing", done, "test", known).rows
    assert [(row.older, row.once) for row in rows] == [(False, row.once) for row in known.rows]
    assert all({"worth", "once", "chosen", "ten"} <= set(row.missing) for row in rows)


def test_no_row_is_opened_for_a_defense_that_nobody_asked_for(measured, tmp_path):
    """Not even by what the parties send, which is told in the row of the scores."""
    _, wanted, done, known = measured
    alone = dataclasses.replace(wanted, defenses=("ordered-dp:epsilon=4",), protections=())
    board = make_board(alone, tmp_path, done, "test", known)
    assert [(row.what, row.older) for row in board.rows] == [("ordered-dp:epsilon=4", False)]


def test_an_unusable_defense_of_a_board_from_elsewhere_is_not_attacked(tmp_path):
    wanted = plan(size=dataclasses.replace(SIZE, parts=("once",)), defenses=("none", "privee-u+:schedule=[0.1,0.2]"))
    done, board = measure(tmp_path / "here", wanted)
    again = Bench(plan=wanted, folder=tmp_path / "there", jobs=1, known=board.rows).run()
    assert (again.measured, again.planned) == (done.measured, done.planned) == (3, 3)
    assert make_board(wanted, tmp_path / "there", again, "test", board).rows == board.rows


ONCE = dataclasses.replace(SIZE, parts=("once",))


@pytest.fixture
def away(monkeypatch):
    """Trainings of these protections, or of every model if "" is among them, fail as long as they are named here."""
    failing, tried = set(), []
    for name in ("train_protected", "train_run"):
        usual = getattr(bench_cases, name)

        def train(first, *rest, usual=usual, name=name):
            which = first if name == "train_protected" else ""
            tried.append(which)
            if which in failing:
                raise PriveeError("its file is away")
            usual(first, *rest)

        monkeypatch.setattr(bench_cases, name, train)
    return failing, tried


def test_a_model_that_cannot_be_trained_is_left_open_and_the_others_go_on(tmp_path, away):
    failing, tried = away
    failing.add("seal:codes=8")
    wanted = plan(size=ONCE, defenses=("none",), protections=("seal:codes=8", "seal:codes=4"))
    done, board = measure(tmp_path, wanted)
    assert (done.measured, done.planned) == (4, 6)
    assert done.untrained == {"digits, logistic, seal:codes=8": "its file is away"}
    assert tried.count("seal:codes=8") == 1  # not again for each of its parts
    assert [row.what for row in board.rows] == ["none", "seal:codes=4"]
    assert (board.about["done"]["untrained"], board.about["not_begun"]) == ([*done.untrained], ["seal:codes=8"])
    assert "Models that could not be trained: digits, logistic, seal:codes=8." in not_in_it(board)
    failing.clear()
    done, board = measure(tmp_path, wanted)
    assert (done.measured, done.planned, done.untrained) == (6, 6, {})
    assert [(row.what, row.reason, row.once is None) for row in board.rows] == [
        ("none", "", False),
        ("seal:codes=8", "", False),
        ("seal:codes=4", "", False),
    ]


def test_where_no_model_can_be_trained_there_is_no_board_and_one_reason(tmp_path, away):
    failing, tried = away
    failing.add("")
    wanted = plan(size=ONCE, protections=("seal:codes=8", "seal:codes=4"))
    bench = Bench(plan=wanted, folder=tmp_path, jobs=1)
    done = bench.run()
    assert (done.measured, done.untrained) == (0, {"digits, logistic": "its file is away"})
    assert tried == [""]
    with pytest.raises(PriveeError, match="no model could be trained"):
        make_board(wanted, tmp_path, done, "test")


def test_a_reason_of_before_that_may_be_a_failed_training_is_not_believed(tmp_path):
    """In a folder: it does not say whose it is. In a file: of a board that kept such reasons."""
    wanted = plan(size=ONCE, defenses=("none",))
    cell = cells_of(wanted, next(iter(wanted.batches)))[0]
    CellFolder(tmp_path).add(cell, {"worth": {"reason": "its file is away"}})
    done, board = measure(tmp_path, wanted)
    assert (done.measured, done.planned, board.rows[0].reason) == (2, 2, "")
    failed = dataclasses.replace(board.rows[0], reason="its file is away")
    ours = dataclasses.replace(board, rows=(failed,))
    assert ours.lasting == (failed,)
    about = {**board.about, "done": {k: v for k, v in board.about["done"].items() if k != "untrained"}}
    assert dataclasses.replace(ours, about=about).lasting == ()


def test_defenses_that_cannot_be_used_are_no_board(tmp_path):
    with pytest.raises(PriveeError, match=r"nothing to compare: privee-u\+.*2 rank positions"):
        measure(tmp_path, plan(size=ONCE, defenses=("privee-u+:schedule=[0.1,0.2]",)))


def test_a_model_that_another_process_trains_is_not_called_untrainable(tmp_path):
    wanted = plan(size=dataclasses.replace(SIZE, parts=("once",)), defenses=("none",))
    run = tmp_path / "models" / wanted.cases[0].key
    run.mkdir(parents=True)
    with alone_in(run, "taken"), pytest.raises(TakenError, match="being trained by another process"):
        measure(tmp_path, wanted)
    done, board = measure(tmp_path, wanted)
    assert (done.measured, done.planned) == (2, 2)
    assert [(row.what, row.reason, row.once is None) for row in board.rows] == [("none", "", False)]


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

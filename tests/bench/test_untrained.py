"""Models that cannot be trained for the moment, and defenses that cannot be used at all."""

import dataclasses

import pytest

from privee.atomic import alone_in
from privee.bench import Bench, make_board
from privee.bench import cases as bench_cases
from privee.bench.cells import CellFolder, cells_of
from privee.bench.page_notes import not_in_it
from privee.errors import PriveeError, TakenError
from tests.bench.small import SIZE, measure, plan

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

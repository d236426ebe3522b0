"""Rows measured elsewhere: taken as they are, standing in for what is missing, and never added unasked."""

import dataclasses

import pytest

from privee.bench import Bench, load_board, make_board, save_board
from privee.bench.running import TimeIsUpError
from tests.bench.small import SIZE, measure, plan


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

"""Boards and cells that somebody changed by hand, or half of which is lost: one line, and nothing half-written."""

import functools
import json
import operator

import pytest

from privee.audit.results import Finding
from privee.bench import SIZES, Plan, load_board, save_board
from privee.bench.cells import CellFolder, cells_of, plain_finding
from privee.bench.page import write_page
from privee.bench.rows import Measured
from privee.bench.tried import Tried
from privee.errors import PriveeError
from tests._support.made_boards import board, row

TRIED = Tried(
    attack="x",
    attacker="adaptive",
    queries=1,
    questions=0,
    left=0.4,
    records=60,
    columns=2,
    told=(("a", 0.2, 1e-9),),
)
DEEP = {
    "about.size": None,
    "about.done": None,
    "about.done.planned": "many",
    "about.left_out": "x",
    "about.not_begun": 3,
    "about.from": "x.json",
    "rows.0.dataset": 5,
    "rows.0.missing": [3],
    "rows.0.once.mean": "abc",
    "rows.0.ten.worst": float("nan"),
    "rows.0.worth": [1],
    "rows.0.worth.l1_moved": "abc",
    "rows.0.worth.epsilon": None,
    "rows.0.worth.structure": {"distances": 1.0},
    "rows.0.worth.note": float("inf"),
    "rows.0.label": "\ud800",
    "rows.0.parts.once.tried.0.told": [["x"]],
    "rows.0.parts.once.tried.0.left": "q",
    "rows.0.parts.once.tried.0.columns": 10**400,
    "rows.0.parts": [],
}


@pytest.mark.parametrize(("place", "value"), DEEP.items(), ids=DEEP)
def test_a_board_that_is_damaged_in_one_place_is_refused_in_one_line(tmp_path, place, value):
    """Changed there; taken out where it must be there and may be none."""
    parts = {"once": Measured(cells=("k",), tried=(TRIED,))}
    file = save_board(board(row("none", parts=parts)), tmp_path / "leaderboard.json")
    assert load_board(file).rows[0].parts == parts
    saved = json.loads(file.read_text())
    *way, last = (int(step) if step.isdigit() else step for step in place.split("."))
    holder = functools.reduce(operator.getitem, way, saved)
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    file.write_text(json.dumps(saved))
    with pytest.raises(PriveeError, match=r"^[^\n]*is no leaderboard that can be read: [^\n]+$"):
        load_board(file)


def test_a_page_that_cannot_be_made_leaves_no_file(tmp_path, monkeypatch):
    """Neither its figures nor its picture, nor a folder for them."""
    monkeypatch.setattr("privee.bench.page.draw", lambda lines: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_page(board(row("none")), tmp_path / "new" / "page.md")
    assert list(tmp_path.iterdir()) == []


FINDING = Finding(subject="s", defense="none", attack="x", attacker="adaptive", seed=0, guess_normalised=0.5)
COLUMN = dict.fromkeys(
    ("error", "guess_error", "gain_se", "ratio_se", "known", "guess_known", "surest", "surest_known"), 0.5
) | {"column": 0, "rows": 9, "correlation": None, "guess_correlation": None, "guess_surest_known": 0, "questions": []}
WHOLE = {
    "worth": {"worth": row("none").worth},
    "once": {"columns": ["a"], "findings": [plain_finding(FINDING) | {"columns": [COLUMN]}], "as_once": False},
}


def kept_as(folder, part, values):
    """A cell of this part with these values."""
    plan = Plan(size=SIZES["quick"], datasets=("digits",), models=("mlp",), defenses=("none",))
    cell = cells_of(plan, next(batch for batch in plan.batches if batch.what == part))[0]
    file = folder / "cells" / f"{cell.key}.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"settings": cell.settings} | values))
    return file, lambda: CellFolder(folder).get(cell)


@pytest.mark.parametrize("part", WHOLE)
def test_a_cell_of_other_settings_is_damaged(tmp_path, part):
    file, get = kept_as(tmp_path, part, WHOLE[part])
    assert get() | json.loads(json.dumps(WHOLE[part])) == get()
    file.write_text(file.read_text().replace('"seed": 0', '"seed": 1'))
    with pytest.raises(PriveeError, match="is damaged; remove it"):
        get()


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("worth", {}),
        ("worth", {"worth": []}),
        ("worth", {"worth": {}}),
        ("worth", {"worth": {"reason": 5}}),
        ("worth", {"worth": row("none").worth | {"epsilon": "q"}}),
        ("worth", {"worth": row("none").worth | {"l1_moved": 10**400}}),
        ("worth", {"worth": row("none").worth | {"l1_moved": float("nan")}}),
        ("once", {}),
        ("once", WHOLE["once"] | {"findings": "x"}),
        ("once", WHOLE["once"] | {"findings": [{}]}),
        ("once", WHOLE["once"] | {"findings": []}),  # and it is not said that asking again is asking once
        ("once", WHOLE["once"] | {"findings": [plain_finding(FINDING) | {"guess_normalised": "q"}]}),
        ("once", WHOLE["once"] | {"findings": [plain_finding(FINDING) | {"columns": [COLUMN | {"error": None}]}]}),
        ("once", WHOLE["once"] | {"columns": 3}),
        ("once", WHOLE["once"] | {"columns": []}),  # and one was found
        ("once", WHOLE["once"] | {"as_once": "no"}),
    ],
)
def test_a_damaged_cell_is_named(tmp_path, part, values):
    _, get = kept_as(tmp_path, part, values)
    with pytest.raises(PriveeError, match=r"^[^\n]*\.json is damaged; remove it, and it is measured again$"):
        get()


def test_a_cell_without_findings_is_whole_where_asking_again_is_asking_once(tmp_path):
    _, get = kept_as(tmp_path, "once", WHOLE["once"] | {"findings": [], "as_once": True})
    assert get()["as_once"]

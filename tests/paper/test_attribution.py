"""What the first line and the attribution count: like beside like, each figure in its place."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from privee.paper import Row, Value, find_result, load_outcome
from privee.paper.measure.attack_rows import AttackResult
from privee.paper.released.attribution import attribute, met_by_chance, single, tried_with, without
from privee.paper.released.kept_rows import attributed, where_of
from privee.paper.released.page_tables import _of, in_tables, met_in_tables
from privee.paper.released.parts import CONJECTURES, chosen
from privee.paper.released.scenes import Figure, Scene, figures
from privee.paper.report.figures_met import figures_met

PAGE = Path(__file__).parents[2] / "docs" / "paper"
NOTHING: frozenset[str] = frozenset()


def kept(*names: str):
    return {name: load_outcome(PAGE / f"{name}.json") for name in names}


def figure(printed: float, dataset: str = "mnist") -> Figure:
    return Figure(table="grna-50", scene=Scene(dataset=dataset, attack="grna"), defense="none", printed=printed)


def test_chance_counts_the_tables_of_the_page_where_they_are_counted_as_met():
    found = [attribute(figure(printed), {NOTHING: Value(value=9.0)}) for printed in (1.0, 2.0)]
    assert met_by_chance(found) == 0.0
    tables = {found[0].figure: (1.0,), found[1].figure: (1.1,)}
    assert met_by_chance(found, tables) == pytest.approx(1.0)  # either is near 1, and one of the two is printed so
    assert met_in_tables(tables) == {found[0].figure}


def test_a_combination_that_was_not_played_is_not_counted_as_missed():
    played = attribute(figure(1.0), {NOTHING: Value(value=5.0)})
    drive = attribute(figure(1.0, dataset="drive"), {chosen("double-softmax"): Value(value=1.0)})
    assert single([played, drive], NOTHING) == 0
    assert tried_with([played, drive], NOTHING) == 1


def test_no_two_figures_are_told_apart_by_luck():
    """Rounding to one digit and to two is printed with one value twice: each has a place of its own."""
    assert len({_of(one) for one in figures()}) == len(figures())
    twice = [f for f in figures() if (f.table, f.scene.dataset, f.printed) == ("grna-25", "cifar10", 0.126)]
    assert {f.defense for f in twice} == {"rounding-1", "rounding-2"}
    rows = [
        Row(
            where={"dataset": "cifar10", "defense": f"rounding:digits={digits}", "attacker": "naive"},
            measured={"confidence_residual": Value(value=ours)},
            printed={"confidence_residual": Value(value=0.126)},
        )
        for digits, ours in ((1, 0.126), (2, 9.0))
    ]
    (table,) = kept("grna-25").values()
    met = met_in_tables(in_tables({"grna-25": dataclasses.replace(table, rows=tuple(rows))}))
    assert {f.defense for f in met} == {"rounding-1"}


def test_every_printed_figure_is_compared_in_a_table_of_the_page():
    names = dict.fromkeys(one.table for one in figures())
    assert set(in_tables(kept(*names))) == set(figures())


def test_privee_u_plus_is_compared_with_what_the_code_does_to_it_alone():
    (one,) = [f for f in figures() if (f.table, f.scene.dataset, f.defense) == ("gia-25", "mnist", "privee-u+")]
    assert not any("draws-to-3" in parts for parts in one.combinations)
    values = {"as published": Value(value=9.0), "draws-to-3": Value(value=one.printed)}
    (found,) = attributed([Row(where=where_of(one), measured=values, printed={"loss": Value(value=one.printed)})])
    assert set(found.tried) == {NOTHING}
    assert not found.met


def test_the_first_line_puts_chance_beside_what_it_counts():
    names = ("as-released", *dict.fromkeys(one.table for one in figures()))
    outcomes = kept(*names)
    text = figures_met(outcomes)
    read = [without(one, CONJECTURES) for one in attributed(outcomes["as-released"].rows)]
    tables = in_tables(outcomes)
    met = {one.figure for one in read if one.met} | met_in_tables(tables)
    assert f"**Attacks: {len(met)} of 249 printed figures" in text
    assert met_by_chance(read, tables) > met_by_chance(read) + 5  # tables have their own luck
    assert f"{met_by_chance(read, tables):.0f} printed figures would be met in the same way**" in text
    assert f"none {single(read, NOTHING)} of the {tried_with(read, NOTHING)} that were played so" in text


def test_every_stored_figure_is_read_anew():
    """A setting that is written in two ways, such as 1 and 1.0, is one."""
    for name in ("gia-mnist-clients", "grna-50"):
        result, (outcome,) = find_result(name), kept(name).values()
        assert isinstance(result, AttackResult)
        wrong = [
            dataclasses.replace(row, printed={key: Value(value=-1.0) for key in row.printed}) for row in outcome.rows
        ]
        now = result.beside(wrong)
        assert [row.printed for row in now] == [row.printed for row in outcome.rows]

"""What a leaderboard says over all models, from rows made by hand."""

import dataclasses

import pytest

from privee.bench.attacks_section import attacks_section
from privee.bench.board import load_board, save_board
from privee.bench.equal_epsilon import section
from privee.bench.page import page, write_page
from privee.bench.page_notes import made, weak_guesses
from privee.bench.picture import LOOKS, NOTHING, ORDERED, PROVEN, SEALED, draw, look_of
from privee.bench.rows import Measured, Row
from privee.bench.summary import epsilon_of, lines_of
from privee.bench.tried import Left, Tried
from privee.errors import PriveeError
from tests._support.made_boards import board, row


def test_a_line_has_the_median_and_the_worst_of_its_models():
    rows = [row("none", dataset=name, accuracy=0.9) for name in ("a", "b", "c")]
    rows += [
        row("rounding", dataset=name, once=once, chosen=chosen, moved=moved, accuracy=accuracy)
        for name, once, chosen, moved, accuracy in (
            ("a", 0.5, 0.1, 1.0, 0.8),
            ("b", 0.7, 0.2, 3.0, 0.9),
            ("c", 0.9, 0.3, 2.0, 0.5),
        )
    ]
    line = next(line for line in lines_of(board(*rows)) if line.what == "rounding")
    assert line.once == (0.7, 0.5)
    assert line.chosen == line.least == (0.2, 0.1)
    assert line.column == (0.1, 0.05)
    assert line.l1_moved == (2.0, 3.0)
    assert line.accuracy_lost == (pytest.approx(0.1), pytest.approx(0.4))
    assert line.distances == (0.9, 0.9)
    assert line.models == 3


def test_lines_are_ordered_by_what_the_strongest_attacker_is_left_with():
    """Not by what one honest question tells; and what is not measured yet comes last."""
    rows = [
        row("none", once=0.1, chosen=0.1),
        row("label-only", once=0.99, chosen=0.2),
        row("gaussian", once=0.6, chosen=0.6),
    ]
    rows.append(dataclasses.replace(row("rounding"), chosen=None, missing=("chosen",)))
    lines = lines_of(board(*rows))
    assert [line.what for line in lines] == ["gaussian", "label-only", "none", "rounding"]
    assert [line.complete for line in lines] == [True, True, True, False]


def test_the_page_says_who_moves_scores_less_at_the_same_epsilon_and_where_not():
    rows = [row(f"ordered-dp:epsilon={e}", moved=m) for e, m in ((1, 0.2), (4, 0.1), (16, 0.3))]
    rows += [
        row(f"one-parameter:epsilon={e}", moved=m, same="any two vectors") for e, m in ((1, 0.5), (4, 0.4), (16, 0.25))
    ]
    rows += [row("op-epsilon:epsilon=4", moved=0.9, epsilon=None, same="")]
    text = section(board(*rows))
    assert "Against `one-parameter`, `ordered-dp` moves scores less in 2 of 3 comparisons." in text
    assert "**Not** at epsilon 16 on digits, mlp (0.300 against 0.250)." in text
    assert "Against `op-epsilon`, `ordered-dp` moves scores less in 1 of 1 comparisons: everywhere." in text
    assert "`one-parameter` speaks of any two vectors; `op-epsilon` proves none, and was set to it" in text
    assert "| 16 | digits | mlp | 0.300 | **0.250** |  |" in text


def test_epsilons_are_compared_as_they_are_proven_and_not_as_they_are_set():
    """A setting of 0.4 that proves 4 is compared with 4, one of 4 that proves 40 is not."""
    rows = [row("ordered-dp:epsilon=4", moved=0.1), row("op-epsilon:epsilon=4", epsilon=40.0, moved=0.01)]
    assert "No other defense" in section(board(*rows))
    rows.append(row("op-epsilon:epsilon=0.4", epsilon=3.99, moved=0.7))
    assert "| 4 | digits | mlp | **0.100** | 0.700 |" in section(board(*rows))


def test_of_several_settings_with_one_epsilon_the_one_that_moves_least_stands_for_its_defense():
    rows = [
        row("ordered-dp:epsilon=4", moved=0.1),
        *(row(f"a:k={k},epsilon=4", epsilon=4, moved=k) for k in (3, 0.2, 2)),
    ]
    assert "| 4 | digits | mlp | **0.100** | 0.200 |" in section(board(*rows))


def test_equal_epsilons_need_somebody_to_compare_with():
    assert "No other defense" in section(board(row("ordered-dp:epsilon=4"), row("gaussian:epsilon=5")))


@pytest.mark.parametrize(
    ("spec", "epsilon"), [("a:epsilon=4", 4.0), ("a", None), ("a:epsilon=4,b=1", None), ("a:b", None)]
)
def test_only_an_epsilon_alone_is_compared(spec, epsilon):
    assert epsilon_of(spec) == epsilon


def test_the_page_is_made_of_the_file_alone(tmp_path):
    """Saved, loaded and written again, it is the same to the last letter."""
    whole = board(
        row("none"),
        row("ordered-dp:epsilon=4"),
        Row(dataset="digits", model="mlp", protection="", defense="x", reason="why"),
    )
    files = write_page(whole, tmp_path / "one.md")
    assert load_board(files["json"]) == whole
    again = write_page(load_board(files["json"]), tmp_path / "again" / "one.md")
    assert again["page"].read_text() == files["page"].read_text()
    assert again["picture"].read_bytes() == files["picture"].read_bytes()
    text = files["page"].read_text()
    assert "Not possible here: `x`: why." in text
    assert "2 of 10 planned cells are not measured yet" in text
    assert "not tried: `boosted-trees`" in text
    assert "(images/one.png)" in text


def test_the_page_says_with_which_options_it_was_made_and_what_came_from_a_file():
    rows = [row("none"), row("ope")]
    command = "privee bench --quick -d none"
    assert "came" not in made(board(*rows))
    about = board().about | {"command": f"{command} --from old.json", "from": {"file": "old.json", "rows": 1}}
    text = made(dataclasses.replace(board(*rows), about=about))
    assert f"`{command} --from old.json --page FILE`" in text
    assert "1 of 2 rows came, all or in part, from old.json." in text
    assert f"Elsewhere `{command} --from` the file of figures" in text


def test_a_row_that_is_not_finished_is_marked_and_what_is_missing_is_named():
    rows = [
        dataclasses.replace(row(name), missing=parts) for name, parts in (("none", ("ten",)), ("a", ("ten", "sent")))
    ]
    some = board(*rows)
    some = dataclasses.replace(some, about={**some.about, "not_begun": ["memguard"]})
    text = page(some, lines_of(board(row("none"))), "p")
    assert "| `none` * |" in text
    told = "ten of digits mlp (2); sent of digits mlp (1); all of `memguard`"
    assert f"not measured yet (part, model and its rows): {told}. " in text


def test_every_line_is_a_point_with_its_number_and_its_name():
    rows = [row("none", moved=0.0), row("gaussian:epsilon=4", order_proven=False), row("rounding", order_proven=False)]
    rows.append(row("none", protection="seal:codes=8", order_proven=None))
    lines = lines_of(board(*rows))
    assert {look_of(line).words for line in lines} == {look.words for look in LOOKS}
    assert (SEALED, PROVEN, ORDERED, NOTHING) == LOOKS
    figure = draw(lines)
    words = [text.get_text() for text in figure.texts]
    assert {line.what for line in lines} <= set(words)
    for axes in figure.axes:
        assert {"1", "2", "3", "4"} <= {text.get_text() for text in axes.texts}
        assert sum(len(line.get_xdata()) == 1 for line in axes.lines) == 4


def test_the_picture_shows_the_worst_beside_the_average():
    """Two models: the column told best stands at its median and at the worst of the two, the mean at its median."""
    (line,) = lines_of(board(*(row("none", dataset=name, chosen=chosen) for name, chosen in (("a", 0.1), ("b", 0.4)))))
    assert line.column.worst < line.column.median < line.chosen.median < line.once.median
    shown = {axes.get_title(loc="left"): heights_of(axes) for axes in draw([line]).axes}
    assert shown == {
        "mean of columns, asked once": [line.once.median],
        "mean of columns, five chosen questions": [line.chosen.median],
        "column told best, median model": [line.column.median],
        "column told best, worst model": [line.column.worst],
    }


def heights_of(axes):
    return [line.get_ydata()[0] for line in axes.lines if len(line.get_xdata()) == 1]


@pytest.mark.parametrize("text", ["[]", '{"rows": 3, "about": {}}', '{"rows": [{"dataset": 1}], "about": {}}', "{"])
def test_what_is_no_leaderboard_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "leaderboard.json").write_text(text)
    with pytest.raises(PriveeError, match=r"^[^\n]+$"):
        load_board(tmp_path)


def test_a_page_is_markdown(tmp_path):
    with pytest.raises(PriveeError, match=r"ends in \.md"):
        write_page(board(row("none")), tmp_path / "page.html")


def test_a_board_that_is_not_there_is_said(tmp_path):
    with pytest.raises(PriveeError, match="measure first"):
        load_board(tmp_path)
    save_board(board(row("none")), tmp_path / "leaderboard.json")
    assert load_board(tmp_path).rows[0].defense == "none"


def tried(attack, left, told=(), **more):
    given = {"attacker": "adaptive", "queries": 1, "questions": 0, "records": 60, "columns": 2} | more
    return Tried(attack=attack, left=left, told=told, **given)


def test_the_page_says_of_how_many_rows_an_attack_is_the_best_and_what_it_leaves_by_itself():
    weak, strong = tried("grna-paper", 30.0), tried("prior-informed", 0.4, (("a", 0.2, 1e-9),))
    column = tried("boosted-trees", 0.9, (("b", 0.1, 1e-9),))
    chosen = tried("chosen-columns:questions=5", 0.3, questions=5)
    parts = {
        "once": Measured(cells=("k",), tried=(weak, strong, column)),
        "chosen": Measured(cells=("l",), tried=(chosen,)),
    }
    text = attacks_section(board(row("none", parts=parts), row("rounding", parts=parts), row("ope")))
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")][
        1:
    ]
    assert table == [
        ["once", "`prior-informed`", "2", "0.40", "0.40", "2", "0"],
        ["once", "`boosted-trees`", "2", "0.90", "0.90", "0", "2"],
        ["once", "`grna-paper`", "2", "30.00", "30.00", "0", "0"],
        ["5 chosen", "`chosen-columns:questions=5`", "2", "0.30", "0.30", "2", "0"],
    ]
    assert attacks_section(board(row("none"))) == ""


def test_an_attack_that_no_model_here_allows_is_said_to_be_untried():
    """It stands among the attacks of the board, and must not look as if it had been beaten."""
    parts = lambda *some: {"once": Measured(cells=("k",), tried=some)}  # noqa: E731
    rows = [
        row("none", parts=parts(tried("shadow-inversion", None), tried("equation-solving", None))),
        row("rounding", parts=parts(tried("shadow-inversion", None), tried("equation-solving", 0.5))),
    ]
    text = attacks_section(board(*rows))
    assert "models without gradients: `shadow-inversion`." in text
    assert "Possible on none" not in attacks_section(board(row("none", parts=parts(tried("grna-paper", 2.0)))))


def test_the_page_says_between_which_scores_an_epsilon_holds():
    """An epsilon of 0 is that of vectors with the same ranking, and no promise that nothing is told."""
    rows = [
        row("ranking-only", epsilon=0.0, same="score vectors with the same ranking"),
        row("gaussian:epsilon=4", epsilon=4.0, same=""),
        row("ope", epsilon=None),
    ]
    text = page(board(*rows), lines_of(board(*rows)), "x")
    assert "- `ranking-only`: score vectors with the same ranking\n- `gaussian`: all score vectors\n" in text
    assert "Epsilon bounds" not in page(board(rows[2]), lines_of(board(rows[2])), "x")


def test_a_column_that_seems_told_behind_strong_noise_is_said_to_be_guessed_badly():
    told = Left(mean=0.99, attack="a", worst=0.6, column="c7", column_attack="a", attacks=1, records=60)
    ours, any_two = "any two score vectors with the same ranking", "any two score vectors"
    rows = {
        (spec, epsilon, same): dataclasses.replace(
            row(spec, epsilon=epsilon, same=same), once=told, ten=told, chosen=told
        )
        for spec, epsilon, same in (
            ("record-order:epsilon=1", 1.0, any_two),
            ("record-order:epsilon=16", 16.0, any_two),
            ("ordered-dp:epsilon=1", 1.0, ours),
            ("ope", None, ""),
        )
    }
    said = {name[0]: "Where the guess is weak" in weak_guesses(board(one)) for name, one in rows.items()}
    assert said == dict.fromkeys(said, False) | {"record-order:epsilon=1": True}
    text = page(board(*rows.values()), lines_of(board(*rows.values())), "x")
    assert "`c7` of digits (0.60 to 0.60 left there)" in text


def test_what_an_earlier_version_measured_is_marked():
    text = page(
        board(row("none"), row("rounding", older=True)), lines_of(board(row("none"), row("rounding", older=True))), "x"
    )
    assert "| `rounding` † |" in text
    assert "| `none` |" in text
    assert "† in part measured by an earlier version" in text
    assert "†" not in page(board(row("none")), lines_of(board(row("none"))), "x").replace("marked †", "")


def test_what_was_measured_on_fewer_models_is_hollow_and_says_on_how_many():
    rows = [row(name, dataset=dataset) for name in ("none", "rounding") for dataset in ("a", "b")]
    words = lambda figure: [text.get_text() for text in figure.texts]  # noqa: E731
    assert not any("hollow" in one for one in words(draw(lines_of(board(*rows)))))
    figure = draw(lines_of(board(*rows, row("ope", dataset="a", moved=1.0))))
    assert "hollow: on fewer than 2 models" in words(figure)
    assert any(one.endswith("(1)") for one in words(figure))
    faces = {
        float(mark.get_xdata()[0]): mark.get_markerfacecolor()
        for mark in figure.axes[0].lines
        if mark.get_marker() != "None"
    }
    assert faces[1.0] == "white"
    assert faces[0.1] != "white"

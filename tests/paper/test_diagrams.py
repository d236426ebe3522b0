"""The diagrams agree with the code they draw."""

import dataclasses
from pathlib import Path

import pytest
from matplotlib.text import Text

from privee.defenses import PriveeU
from privee.paper import Bench, measure_result
from privee.paper.measure.workflow import observe
from privee.paper.results.diagrams import Diagrams, draw, workflow_rows
from privee.vfl import messages, party
from privee.vfl.coordinator import Coordinator

BENCH = Bench("quick", Path("unused"))


def shown(figure) -> set[str]:
    return {text.get_text() for text in figure.findobj(Text) if text.get_text()}


def test_diagrams_agree_and_show_every_message():
    outcome = measure_result(Diagrams(), BENCH)
    assert outcome.account.agrees is True
    seen = {row.where["what"] for row in outcome.rows}
    pipelined = {"WorkAndLogits", "EmbeddingAndGradient"}  # pairs of the others; the paper does not overlap steps
    assert {kind.__name__ for kind in messages.Message.__args__} - pipelined <= seen
    assert {"Passive party", "Active party", "Coordinator", "PRIVEE-U", "Logit gradient"} <= shown(draw(outcome.rows))


@pytest.mark.parametrize(
    ("thing", "old", "new"),
    [
        (messages.Embedding, "Embedding", "Parcel"),
        (party.ActiveParty, "Active party", "Referee"),
        (PriveeU, "PRIVEE-U", "Veil"),
    ],
)
def test_a_renamed_role_or_message_is_renamed_in_the_picture(thing, old, new):
    name = thing.__name__
    try:
        thing.__name__ = new
        texts = " ".join(shown(draw(workflow_rows(observe(PriveeU(rho=0.1))))))
    finally:
        thing.__name__ = name
    assert new in texts
    assert old not in texts


def test_a_role_without_its_method_cannot_be_drawn(monkeypatch):
    monkeypatch.delattr(Coordinator, "scores")
    with pytest.raises(AttributeError, match="scores"):
        observe(PriveeU(rho=0.1))


def test_an_account_of_diagrams_that_does_not_agree():
    rows = measure_result(Diagrams(), BENCH).rows
    aside = dataclasses.replace(rows[0], where={**rows[0].where, "from": "PassiveParty", "to": "ActiveParty"})
    assert Diagrams().account([*rows, aside]).agrees is False
    features = dataclasses.replace(rows[-7], where={**rows[-7].where, "what": "Features"})
    assert features.where["picture"] == "prediction"
    assert Diagrams().account([*rows, features]).agrees is False
    last, before = (
        dataclasses.replace(a, measured=a.measured | {"release": b.measured["release"]})
        for a, b in (rows[:-3:-1], rows[-2:])
    )
    assert Diagrams().account([*rows[:-2], before, last]).agrees is False


def test_words_lie_on_the_page_and_beside_each_other():
    figure = draw(measure_result(Diagrams(), BENCH).rows)
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    assert figure.bbox.width == 1000
    for k, one in enumerate(boxes):
        assert one.x0 >= 0
        assert one.x1 <= 1000
        assert not any(one.overlaps(other) for other in boxes[k + 1 :])

"""The pipeline and the workflow as pictures, drawn from what the code's own roles were heard saying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from privee.audit.report.charts import chart_settings
from privee.defenses import defense
from privee.paper.base import Result, register
from privee.paper.measure.bench import Bench
from privee.paper.measure.workflow import Workflow, WorkflowStep, observe, words
from privee.paper.outcomes import Account, Outcome, Row, Size, Value
from privee.paper.plots.drawing import arrow, bars, box, frame, heading, lane, note, page
from privee.paper.printed import PRIVEE_U

TRAINING, PREDICTION, OUTPUT, EXAMPLE = "training", "prediction", "output", "example"
LEVEL = 52
"""Pixels between two messages."""


@register
class Diagrams(Result):
    """The inference pipeline with PRIVEE, and the two phases of joint learning."""

    name: ClassVar[str] = "diagrams"
    place: ClassVar[int] = 17
    title: ClassVar[str] = "Who sends what to whom, and where the release is made"
    source: ClassVar[str] = "overview of the inference pipeline, figure of the training and inference workflow"
    band: ClassVar[str] = "counted, no band"

    def settings(self, size: Size) -> dict[str, Any]:
        return {
            "defense": PRIVEE_U,
            "observed": "one batch of a two-party logistic model",
            "differs": ["messages counted in a small logistic model of two parties, where the paper draws a scheme"],
        }

    def rows(self, bench: Bench) -> list[Row]:
        return workflow_rows(observe(defense(PRIVEE_U)))

    def account(self, rows: Sequence[Row]) -> Account:
        coordinator = next(row.where["from"] for row in rows if row.where["picture"] == OUTPUT)
        sent = [row.where for row in rows if row.where["picture"] in {TRAINING, PREDICTION}]
        through = [where for where in sent if coordinator in {where["from"], where["to"]}]
        up = {where["what"] for where in sent if where["picture"] == PREDICTION and where["to"] == coordinator}
        scored = [row.measured for row in rows if row.where["picture"] == EXAMPLE]
        kept = all(
            (a["score"].value > b["score"].value) == (a["release"].value > b["release"].value)
            for a in scored
            for b in scored
        )
        return Account(
            agrees=len(through) == len(sent) and len(up) == 1 and kept,
            printed="parties send activations to a coordinator, which returns gradients and defends what it hands out",
            measured=(
                f"{len(through)} of {len(sent)} kinds of messages go to or from the coordinator; at prediction the "
                f"parties send nothing but {' and '.join(sorted(up))}; the ranking is {'kept' if kept else 'not kept'}"
            ),
            reason=(
                "The paper's caption has the coordinator compute the loss, its text the active party; here the active "
                "party does, so that labels stay with it."
            ),
        )

    def figure(self, outcome: Outcome) -> Figure | None:
        return draw(outcome.rows)


def workflow_rows(found: Workflow) -> list[Row]:
    """Messages in order, then the two steps of the coordinator, then one example."""
    rows = [_message(step, count) for step, count in found.steps.items()]
    rows.append(_row(OUTPUT, found.coordinator, found.defense, found.scores_step, ""))
    rows.append(_row(OUTPUT, found.defense, "", found.release_step, ""))
    for k, (score, released) in enumerate(zip(found.scores, found.release, strict=True)):
        measured = {"score": Value(value=float(score)), "release": Value(value=float(released))}
        rows.append(_row(EXAMPLE, "", "", f"class {k}", "", measured))
    return rows


def draw(rows: Sequence[Row]) -> Figure:
    """The pipeline above, training and prediction below."""
    levels = {phase: _levels(rows, phase) for phase in (TRAINING, PREDICTION)}
    height = 560 + LEVEL * max(map(len, levels.values()))
    with chart_settings("diagrams"):
        figure, axes = page(height)
        heading(axes, 24, 26, "Pipeline of a prediction")
        _pipeline(figure, axes, rows)
        for k, (phase, steps) in enumerate(levels.items()):
            left = 24 + 500 * k
            heading(axes, left, 418, f"({'ab'[k]}) {phase.capitalize()}")
            _sequence(axes, left, 446, rows, steps, releases=phase == PREDICTION)
        return figure


def _message(step: WorkflowStep, count: int) -> Row:
    measured = {"messages": Value(value=float(count))}
    return _row(step.phase, step.sender, step.receiver, step.message, ", ".join(step.carries), measured)


def _row(
    picture: str, sender: str, receiver: str, what: str, carries: str, measured: dict[str, Value] | None = None
) -> Row:
    where = {"picture": picture, "from": sender, "to": receiver, "what": what, "carries": carries}
    return Row(where=where, measured=measured or {})


def _levels(rows: Sequence[Row], phase: str) -> list[list[dict[str, Any]]]:
    """Messages of one kind to or from different parties stand at one height."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    coordinator = _outputs(rows)[0]["from"]
    for row in rows:
        where = dict(row.where)
        if where["picture"] == phase:
            found.setdefault((where["what"], where["carries"], where["from"] == coordinator), []).append(where)
    return list(found.values())


def _outputs(rows: Sequence[Row]) -> list[dict[str, Any]]:
    return [dict(row.where) for row in rows if row.where["picture"] == OUTPUT]


def _parties(rows: Sequence[Row]) -> list[str]:
    """Those who answer the coordinator, the one that is asked for most last: the active party."""
    coordinator = _outputs(rows)[0]["from"]
    senders = [row.where["from"] for row in rows if row.where["to"] == coordinator]
    return sorted(dict.fromkeys(senders), key=senders.count)


def _pipeline(figure: Figure, axes: Axes, rows: Sequence[Row]) -> None:
    to_defense, handed_out = _outputs(rows)
    parties, coordinator = _parties(rows), to_defense["from"]
    sent = {r.where["what"] for r in rows if r.where["picture"] == PREDICTION and r.where["to"] == coordinator}
    frame(axes, 346, 92, 404, 244, "trusted: what is inside stays inside")
    for k, party in enumerate(parties):
        top = 106 + 120 * k
        box(axes, 24, top, 168, 96, words(party), ("own columns", "bottom model"))
        arrow(axes, (196, top + 48), (358, top + 48), " and ".join(map(words, sorted(sent))))
    box(axes, 362, 106, 116, 216, words(coordinator), ("top model", "softmax"))
    box(axes, 622, 106, 116, 216, words(to_defense["to"]), ("interval by rank", "fresh draw", "shift"))
    example = [row.measured for row in rows if row.where["picture"] == EXAMPLE]
    scores, released = (np.array([values[key].value for values in example]) for key in ("score", "release"))
    bars(figure, 516, 140, 92, 120, scores, to_defense["what"])
    arrow(axes, (482, 290), (618, 290))
    arrow(axes, (742, 214), (812, 214))
    bars(figure, 850, 126, 126, 150, released, handed_out["what"])
    note(axes, 908, 308, "number: rank of the class,\nthe same before and after")


def _sequence(
    axes: Axes, left: float, top: float, rows: Sequence[Row], levels: list[list[dict[str, Any]]], *, releases: bool
) -> None:
    outputs, parties = _outputs(rows), _parties(rows)
    coordinator = outputs[0]["from"]
    lanes = {parties[0]: left + 66, coordinator: left + 222, parties[-1]: left + 378}
    bottom = top + 62 + LEVEL * len(levels)
    for role, x in lanes.items():
        lane(axes, x, top, bottom - 14 * (releases and role == coordinator), words(role))
    for k, together in enumerate(levels):
        y = top + 68 + LEVEL * k
        for where in together:
            way = 1 if lanes[where["to"]] > lanes[where["from"]] else -1
            start, stop = lanes[where["from"]] + 3 * way, lanes[where["to"]] - 3 * way
            arrow(axes, (start, y), (stop, y), words(where["what"]), where["carries"])
    if releases:
        x = lanes[coordinator]
        title = f"{outputs[0]['what']}, then {words(outputs[0]['to'])}"
        box(axes, x - 110, bottom - 10, 220, 62, title, (f"only the {outputs[1]['what']} leaves",))
        arrow(axes, (x, bottom + 54), (x, bottom + 96))
        note(axes, x, bottom + 110, outputs[1]["what"], size=10)

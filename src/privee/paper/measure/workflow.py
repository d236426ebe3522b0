"""Who says what to whom: a tiny joint model is trained and asked once, and every message is written down."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable

import numpy as np
import torch

from privee.defenses import Defense
from privee.randomness import seeded
from privee.vfl.joint_model import COORDINATOR, JointModel, Tap, make_models
from privee.vfl.messages import Message

CLASSES = 4
ROWS = 6


@dataclasses.dataclass(frozen=True)
class WorkflowStep:
    """One kind of message in one phase: class names of the roles and the message, and the fields it carried."""

    phase: str
    sender: str
    receiver: str
    message: str
    carries: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Workflow:
    """What was seen: kinds of messages with how often each came, and one vector of scores with its release."""

    steps: dict[WorkflowStep, int]
    coordinator: str
    scores_step: str
    defense: str
    release_step: str
    scores: np.ndarray
    release: np.ndarray


def observe(chosen: Defense) -> Workflow:
    """Train one batch, predict it, and release one prediction."""
    heard: list[tuple[str, str, str, Message]] = []
    phase = "training"
    joint = _tiny(lambda sender, receiver, message: heard.append((phase, sender, receiver, message)))
    rows = torch.arange(ROWS)
    for learner in joint.learners.values():
        learner.start(0.01)
    list(joint.coordinator.train_epoch([rows]))
    phase = "prediction"
    scores = joint.coordinator.scores(rows).numpy().astype(np.float64)
    scores /= scores.sum(axis=1, keepdims=True)
    roles = {party.name: _kind(party) for party in joint.parties} | {COORDINATOR: _kind(joint.coordinator)}
    return Workflow(
        steps=_counted(
            WorkflowStep(when, roles[a], roles[b], _kind(m), _carried(m))
            for when, a, b, m in heard
            if _says_something(m)
        ),
        coordinator=roles[COORDINATOR],
        scores_step=joint.coordinator.scores.__name__,
        defense=_kind(chosen),
        release_step=chosen.release.__name__,
        scores=scores[0],
        release=chosen.release(scores[0], draws=seeded(0, "diagram")),
    )


def words(class_name: str) -> str:
    """A class name as words.

    Example:
        >>> words("PassiveParty"), words("LogitGradient"), words("PriveeU")
        ('Passive party', 'Logit gradient', 'PRIVEE-U')
    """
    if class_name.startswith("Privee"):
        return "PRIVEE-" + class_name.removeprefix("Privee").replace("Plus", "+")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", class_name).capitalize()


def _tiny(tap: Tap) -> JointModel:
    names = ("active", "passive")
    columns = {name: 3.0 * seeded(0, "columns", name).uniform((ROWS, 3)) for name in names}
    bottoms, top = make_models("logistic", dict.fromkeys(names, (3,)), CLASSES, 0)
    return JointModel(
        {k: v.astype(np.float32) for k, v in columns.items()}, np.arange(ROWS) % CLASSES, bottoms, top, tap=tap
    )


def _counted(steps: Iterable[WorkflowStep]) -> dict[WorkflowStep, int]:
    """Each kind once, in the order first seen."""
    found: dict[WorkflowStep, int] = {}
    for step in steps:
        found[step] = found.get(step, 0) + 1
    return found


def _says_something(message: Message) -> bool:
    """An answer whose fields are all empty is no step; a question without fields is."""
    return bool(_carried(message)) or not dataclasses.fields(message)


def _carried(message: Message) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(message) if _full(getattr(message, field.name)))


def _full(value: object) -> bool:
    """Is there something in the field? A flag is part of the question, not something handed over."""
    return value is not None and not isinstance(value, bool)


def _kind(thing: object) -> str:
    return type(thing).__name__

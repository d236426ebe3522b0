"""What every adapter is given: a defense, as an object or as a spec; and what its model puts out."""

from __future__ import annotations

from typing import Any, Literal, get_args

from privee.defenses import Defense, Repeatable
from privee.defenses import defense as make_defense
from privee.errors import SettingError

Outputs = Literal["scores", "logits"]


def given_defense(defense: Any) -> Defense:
    """The defense itself, or the one that a spec such as "ordered-dp:epsilon=4" names."""
    if isinstance(defense, str):
        return make_defense(defense)
    if isinstance(defense, Repeatable):
        raise SettingError("a Repeatable wants to know the entities, which no model does: give the defense inside it")
    if not isinstance(defense, Defense):
        raise SettingError('defense must be a defense or a spec, e.g. "ordered-dp:epsilon=4"')
    return defense


def given_outputs(outputs: Any) -> Outputs:
    """One of the two things that a model may put out."""
    if outputs not in get_args(Outputs):
        raise SettingError(f"outputs must be 'scores' or 'logits', got {outputs!r}")
    found: Outputs = outputs
    return found

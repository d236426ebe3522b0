"""What was handed out, with or without the parts that touch it.

The released code applies its formulas to whatever the coordinator gives, logits and reversed schedules included, where
our defenses rightly refuse. So formulas stand here once more, for re-enactment alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from privee.baselines.ope import FrequencyHidingEncryption
from privee.paper.released.parts import Chosen
from privee.randomness import Draws, seeded

Array = NDArray[np.float64]

AMPLITUDE = 0.48
DELTA, SENSITIVITY = 1e-5, 0.1
USUAL_SCHEDULE, REVERSED_SCHEDULE = (0.1, 0.9), (0.1, 0.05)
"""Rho of the leading and of the last class: the reading of this page, and what the released code takes."""


def released(values: Array, defense: str, parts: Chosen, *, rho: float, seed: int) -> Array:
    """The release of (n, K) scores, or logits, behind a defense of the paper's tables."""
    name, _, setting = defense.partition("-") if not defense.startswith("privee") else (defense, "", "")
    draws = seeded(seed, "as released", defense, f"{rho:g}", *sorted(parts))
    return FORMS[name](values, setting, parts, rho, draws)


def ranks(values: Array) -> NDArray[np.int64]:
    """0 for the leading class; ties keep the lower index first."""
    order = np.argsort(-values, axis=1, kind="stable")
    found = np.empty_like(order)
    np.put_along_axis(found, order, np.broadcast_to(np.arange(values.shape[1]), order.shape), axis=1)
    return found


def rank_surrogate(values: Array) -> Array:
    """(K - j) / K for the class at rank j, counted from 0: what the released code hands out for OPE ciphertexts.

    Example:
        >>> rank_surrogate(np.array([[0.1, 0.7, 0.2]]))
        array([[0.33333333, 1.        , 0.66666667]])
    """
    classes = values.shape[1]
    return np.asarray((classes - ranks(values)) / classes)


def _none(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    return values


def _rounding(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    return np.round(values, int(setting))


def _gaussian(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    """The classical Gaussian mechanism."""
    sigma = np.sqrt(2.0 * np.log(1.25 / DELTA)) * SENSITIVITY / float(setting)
    return np.asarray(values + sigma * draws.normal(values.shape))


def _ope(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    """Frequency-hiding encryption with a tree for every vector, or its surrogate: both know the ranking alone."""
    if "rank-surrogate" in parts:
        return rank_surrogate(values)
    return np.asarray(FrequencyHidingEncryption().release(_probabilities(values), draws=draws))


def _privee_u(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    return _rank_noise(values, np.full(values.shape[1], rho), parts, draws)


def _privee_u_plus(values: Array, setting: str, parts: Chosen, rho: float, draws: Draws) -> Array:
    ends = REVERSED_SCHEDULE if "reversed-schedule" in parts else USUAL_SCHEDULE
    return _rank_noise(values, np.linspace(*ends, values.shape[1]), parts, draws)


def _rank_noise(values: Array, rho_by_rank: Array, parts: Chosen, draws: Draws) -> Array:
    """p_j = c_j (1 + sigma u_j) - (2 / K) sum(c), u_j from the interval of its rank; nothing repairs the order."""
    classes = values.shape[1]
    place = ranks(values)
    reach = (3.0 if "draws-to-3" in parts else 1.0) / classes
    u = reach * (classes - 1 - place + draws.uniform(values.shape))
    return np.asarray(
        values * (1.0 + AMPLITUDE / rho_by_rank[place] * u) - 2.0 / classes * values.sum(axis=1, keepdims=True)
    )


def _probabilities(values: Array) -> Array:
    """The same ranking as probabilities: encryption refuses logits."""
    if values.min() >= 0 and np.allclose(values.sum(axis=1), 1.0):
        return values
    raised = np.exp(values - values.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


Form = Callable[[Array, str, Chosen, float, Draws], Array]
FORMS: Mapping[str, Form] = {
    "none": _none,
    "rounding": _rounding,
    "gaussian": _gaussian,
    "ope": _ope,
    "privee-u": _privee_u,
    "privee-u+": _privee_u_plus,
}

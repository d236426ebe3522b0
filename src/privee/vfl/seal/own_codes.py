"""Codes from a party's own columns alone: k-means, with no label and no gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from privee.errors import PriveeError
from privee.vfl.scaling import fit_scaling
from privee.vfl.seal.encoders import OwnEncoder

MOST_ROWS = 20_000
STARTS = 8
SMALLEST = 1e-6

Array = NDArray[np.float64]


def fit_own_codes(
    encoder: OwnEncoder, rows: Tensor, *, scaling: str, seed: int, sensitive: Sequence[int] = (), party: str = ""
) -> None:
    """Learn the centres from training rows.

    Args:
        encoder: takes them.
        rows: the party's training rows, encoded.
        scaling: how its columns are brought to one scale.
        seed: for the first centres.
        sensitive: places of features about which the codes should tell little: they are left out, and what the others
            have in common with them (by a linear regression) is taken off.
        party: for errors.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    fit_scaling(encoder, rows, scaling)
    some = rows[: 4 * MOST_ROWS]
    with torch.no_grad():
        flat = encoder.scaling(some).double().numpy()
    turn = _without(flat, list(sensitive))
    turned = flat @ turn
    count = encoder.seal.codes
    different = len(np.unique(turned.round(9), axis=0)) if len(turned) <= MOST_ROWS else len(turned)
    if different < count:
        raise PriveeError(
            f"a seal of {count} codes needs {count} different records to learn from; "
            f"{party or 'the party'} has {different:,}: use fewer codes"
        )
    chosen = turned[np.random.default_rng(seed % 2**63).permutation(len(turned))[:MOST_ROWS]]
    with threadpool_limits(1):
        fitted = KMeans(count, n_init=STARTS, random_state=seed % 2**32).fit(chosen)
    centres = torch.from_numpy(np.asarray(fitted.cluster_centers_))
    encoder.put(centres.to(rows.dtype), torch.from_numpy(turn).to(rows.dtype))


def _without(flat: Array, sensitive: list[int]) -> Array:
    """What turns columns into those that are compared: all of them, or what the sensitive ones do not explain.

    Leaves columns in their own units. With b the regression of the others on the sensitive ones, x_other - x_secret b
    has no correlation with a sensitive column.
    """
    width = flat.shape[1]
    turn = np.eye(width)
    if not sensitive:
        return turn
    others = [place for place in range(width) if place not in set(sensitive)]
    if not others:
        raise PriveeError("all columns of the party are marked sensitive: there is nothing left to learn codes from")
    secret, rest = flat[:, sensitive], flat[:, others]
    secret, rest = secret - secret.mean(axis=0), rest - rest.mean(axis=0)
    explained = np.linalg.lstsq(secret, rest, rcond=SMALLEST)[0]
    turn[np.ix_(sensitive, others)] = -explained
    return turn[:, others]

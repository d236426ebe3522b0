"""The one call for a model of your own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from privee.attacks.own_model import Outputs
from privee.audit.engine import Engine
from privee.audit.grid import Grid, default_defenses, run_grid
from privee.audit.results import Audit
from privee.audit.saving import save_audit
from privee.audit.sources import subject_from_arrays
from privee.progress import Progress


def audit(
    model: Callable[[Any, Any], Any],
    active_columns: ArrayLike,
    passive_columns: ArrayLike,
    *,
    defenses: Sequence[str] | None = None,
    attacks: Sequence[str] = (),
    outputs: Outputs = "scores",
    labels: ArrayLike | None = None,
    seeds: int = 3,
    records: int = 200,
    auxiliary_rows: int = 500,
    queries: int = 1,
    jobs: int | None = None,
    engine: Engine = "local",
    out: Path | str | None = None,
    progress: Progress = lambda done, total: None,
) -> Audit:
    """What does this model's release give away? Attack it with everything, under every defense.

    Args:
        model: function of (active_columns, passive_columns) giving (rows, classes); torch tensors or NumPy arrays.
            Written in torch, it can be attacked by gradients as well.
        active_columns: columns of the party that asks, the attacker, (rows, columns).
        passive_columns: private columns of the same records.
        defenses: specs, such as "privee-u:rho=0.1"; one of each kind by default.
        attacks: specs; one of each kind by default.
        outputs: "scores" (rows sum to 1) or "logits".
        labels: true class numbers, to see what defenses do to accuracy.
        seeds: repetitions, for intervals.
        records: how many are attacked at a time.
        auxiliary_rows: how many rows the attacker knows in full.
        queries: releases per record.
        jobs: how many attacks at once; all cores by default.
        engine: "local", or "ray" for a cluster.
        out: folder for the report and the tables; an interrupted audit goes on there.
        progress: called with (done, total).

    Example:
        >>> import numpy as np
        >>> from scipy.special import softmax
        >>> rng = np.random.default_rng(0)
        >>> active, passive, weights = rng.random((60, 3)), rng.random((60, 2)), rng.normal(size=(5, 4))
        >>> def model(a, p):
        ...     return softmax(np.hstack([a, p]) @ weights, axis=1)
        >>> found = audit(model, active, passive, defenses=["none"], attacks=["equation-solving"], seeds=1, jobs=1)
        >>> found.card("none").grade
        'open'
    """
    subject = subject_from_arrays(model, active_columns, passive_columns, outputs=outputs, labels=labels)
    grid = Grid(
        defenses=default_defenses() if defenses is None else tuple(defenses),
        attacks=tuple(attacks),
        seeds=tuple(range(seeds)),
        records=records,
        auxiliary_rows=auxiliary_rows,
        queries=queries,
    )
    folder = None if out is None else Path(out)
    found = run_grid([subject], grid, jobs=jobs, engine=engine, folder=folder, progress=progress)
    if folder is not None:
        save_audit(found, folder)
    return found

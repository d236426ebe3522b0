"""The paper's appendix A in functions: one statement, one function, one test; and what it leaves open.

`preservation`: what the release keeps. `ambiguity`: what one release hides. `repeated_queries`: what many give away.
`composition`: what differentially private releases add up to. `intervals`: how sure a measured mean is.
"""

from privee.theory.ambiguity import Ambiguity, by_class, other_scores, printed_radius, reconstruction_interval
from privee.theory.composition import composed_epsilon, epsilon_per_release
from privee.theory.intervals import half_width
from privee.theory.preservation import (
    apply_transform,
    correlation_bound,
    distance_bounds,
    operator_norm_bound,
    order_is_kept,
    rows_in_order,
    schedule_keeps_order,
    sharp_distance_bounds,
)
from privee.theory.repeated_queries import (
    expected_error,
    hit_probability,
    midrange_estimate,
    minimum_estimate,
    query_budget,
    rate,
    relative_rate,
    smallest_budget,
)

__all__ = [
    "Ambiguity",
    "apply_transform",
    "by_class",
    "composed_epsilon",
    "correlation_bound",
    "distance_bounds",
    "epsilon_per_release",
    "expected_error",
    "half_width",
    "hit_probability",
    "midrange_estimate",
    "minimum_estimate",
    "operator_norm_bound",
    "order_is_kept",
    "other_scores",
    "printed_radius",
    "query_budget",
    "rate",
    "reconstruction_interval",
    "relative_rate",
    "rows_in_order",
    "schedule_keeps_order",
    "sharp_distance_bounds",
    "smallest_budget",
]

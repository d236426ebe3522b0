"""The paper's appendix A in functions: one statement, one function, one test; and what it leaves open.

`preservation`: what the release keeps. `ambiguity`: what one release hides. `repeated_queries`: what many give away.
`zones`, `chosen_questions`: what an exact order tells who may ask again with chosen own columns.
`composition`: what differentially private releases add up to. `intervals`: how sure a measured mean is.
"""

from privee.theory.ambiguity import Ambiguity, by_class, other_scores, printed_radius, reconstruction_interval
from privee.theory.chosen_questions import (
    bisect,
    column_error_bound,
    fewest_questions,
    own_columns_for,
    questions_needed,
    width_after,
)
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
from privee.theory.zones import HalfSpaces, contains, difference_bounds, half_spaces

__all__ = [
    "Ambiguity",
    "HalfSpaces",
    "apply_transform",
    "bisect",
    "by_class",
    "column_error_bound",
    "composed_epsilon",
    "contains",
    "correlation_bound",
    "difference_bounds",
    "distance_bounds",
    "epsilon_per_release",
    "expected_error",
    "fewest_questions",
    "half_spaces",
    "half_width",
    "hit_probability",
    "midrange_estimate",
    "minimum_estimate",
    "operator_norm_bound",
    "order_is_kept",
    "other_scores",
    "own_columns_for",
    "printed_radius",
    "query_budget",
    "questions_needed",
    "rate",
    "reconstruction_interval",
    "relative_rate",
    "rows_in_order",
    "schedule_keeps_order",
    "sharp_distance_bounds",
    "smallest_budget",
    "width_after",
]

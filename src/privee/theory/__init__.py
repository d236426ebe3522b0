"""The paper's appendix A in functions: one statement, one function, one test; and what it leaves open.

`preservation`: what the release keeps. `ambiguity`: what one release hides. `repeated_queries`: what many give away;
`sample_mean`, `full_vector`: the same for the mean of releases, and for all classes at once.
`zones`, `chosen_questions`: what an exact order tells who may ask again with chosen own columns.
`sealing`, `sealed_bounds`, `sealed_budget`: what a party can give away that sends one of M codes, once, and no more.
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
from privee.theory.full_vector import expected_largest_error, hardest_error, vector_hit_probability
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
from privee.theory.sample_mean import (
    sample_mean_error,
    sample_mean_estimate,
    sample_mean_hit_probability,
    sample_mean_miss_bound,
)
from privee.theory.sealed_bounds import (
    code_bits,
    effective_epsilon,
    fact_guess_bound,
    guess_bound,
    keep_probability,
    leaked_bits,
    leaked_bits_of_draws,
    odds_bound,
)
from privee.theory.sealed_budget import NOT_COVERED, Lifetime, SealedChannel, after_changes, total
from privee.theory.sealing import channel, released_codes, response_weights
from privee.theory.zones import HalfSpaces, contains, difference_bounds, half_spaces

__all__ = [
    "NOT_COVERED",
    "Ambiguity",
    "HalfSpaces",
    "Lifetime",
    "SealedChannel",
    "after_changes",
    "apply_transform",
    "bisect",
    "by_class",
    "channel",
    "code_bits",
    "column_error_bound",
    "composed_epsilon",
    "contains",
    "correlation_bound",
    "difference_bounds",
    "distance_bounds",
    "effective_epsilon",
    "epsilon_per_release",
    "expected_error",
    "expected_largest_error",
    "fact_guess_bound",
    "fewest_questions",
    "guess_bound",
    "half_spaces",
    "half_width",
    "hardest_error",
    "hit_probability",
    "keep_probability",
    "leaked_bits",
    "leaked_bits_of_draws",
    "midrange_estimate",
    "minimum_estimate",
    "odds_bound",
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
    "released_codes",
    "response_weights",
    "rows_in_order",
    "sample_mean_error",
    "sample_mean_estimate",
    "sample_mean_hit_probability",
    "sample_mean_miss_bound",
    "schedule_keeps_order",
    "sharp_distance_bounds",
    "smallest_budget",
    "total",
    "vector_hit_probability",
    "width_after",
]

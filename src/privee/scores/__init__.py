"""What a score array is: its forms, its validation, its ranking, and what it is good for. NumPy and SciPy only."""

from privee.scores.calibration import calibration_error
from privee.scores.forms import Form, to_rows
from privee.scores.order import ascending, place, ranking, rise_where
from privee.scores.structure import Structure, structure_kept
from privee.scores.utility import Utility, majority_of, order_between, utility_of
from privee.scores.validation import SUM_TOLERANCE, check_release, check_rows, check_scores

__all__ = [
    "SUM_TOLERANCE",
    "Form",
    "Structure",
    "Utility",
    "ascending",
    "calibration_error",
    "check_release",
    "check_rows",
    "check_scores",
    "majority_of",
    "order_between",
    "place",
    "ranking",
    "rise_where",
    "structure_kept",
    "to_rows",
    "utility_of",
]

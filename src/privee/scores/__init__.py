"""What a score array is: its forms, its validation, its ranking. NumPy only."""

from privee.scores.calibration import calibration_error
from privee.scores.forms import Form, to_rows
from privee.scores.order import ascending, place, ranking, rise_where
from privee.scores.validation import SUM_TOLERANCE, check_release, check_rows, check_scores

__all__ = [
    "SUM_TOLERANCE",
    "Form",
    "ascending",
    "calibration_error",
    "check_release",
    "check_rows",
    "check_scores",
    "place",
    "ranking",
    "rise_where",
    "to_rows",
]

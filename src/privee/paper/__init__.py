"""The paper, result by result: measured here, beside what is printed.

A new result is a new file in `results` with `@register`.
"""

from privee.extras import require

require(
    "privee.paper", "torch", "safetensors", "sklearn", "pyarrow", "joblib", "jinja2", "matplotlib", "PIL", extra="audit"
)

from privee.paper.base import (
    Result,
    check_parts,
    datasets_of,
    find_result,
    known_results,
    load_outcome,
    measure_all,
    measure_result,
    register,
    save_outcome,
)
from privee.paper.measure.bench import Bench, Case
from privee.paper.measure.sittings import kept_beside
from privee.paper.outcomes import Account, Outcome, Row, Size, Value
from privee.paper.printed import printed
from privee.paper.report.markdown import write_report

__all__ = [
    "Account",
    "Bench",
    "Case",
    "Outcome",
    "Result",
    "Row",
    "Size",
    "Value",
    "check_parts",
    "datasets_of",
    "find_result",
    "kept_beside",
    "known_results",
    "load_outcome",
    "measure_all",
    "measure_result",
    "printed",
    "register",
    "save_outcome",
    "write_report",
]

"""The paper, result by result: measured here, beside what is printed.

A new result is a new file here with `@register`.
"""

from privee.paper.base import Result, find_result, measure, register, results
from privee.paper.bench import Bench, Case
from privee.paper.everything import measure_all
from privee.paper.printed import printed
from privee.paper.report import write_report
from privee.paper.results import Account, Outcome, Row, Size, Value
from privee.paper.saving import load_outcome, save_outcome

__all__ = [
    "Account",
    "Bench",
    "Case",
    "Outcome",
    "Result",
    "Row",
    "Size",
    "Value",
    "find_result",
    "load_outcome",
    "measure",
    "measure_all",
    "printed",
    "register",
    "results",
    "save_outcome",
    "write_report",
]

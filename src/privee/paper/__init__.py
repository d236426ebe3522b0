"""The paper, result by result: measured here, beside what is printed."""

from privee.paper.base import (
    Result,
    find_result,
    known_results,
    load_outcome,
    measure_all,
    measure_result,
    register,
    save_outcome,
)
from privee.paper.measure.bench import Bench, Case
from privee.paper.outcomes import Account, Outcome, Row, Size, Value
from privee.paper.printed import printed
from privee.paper.report.markdown import write_report
from privee.paper.results.accuracy import AccuracyChange, BaselineAccuracy
from privee.paper.results.attack_tables import AttackTable, EquationSolvingTable
from privee.paper.results.by_clients import ClientsEverywhere, DriveByClients, GiaByClients, GrnaByClients
from privee.paper.results.by_rho import AmplitudeSearch, CifarByRho, GrnaByRho, RhoEverywhere
from privee.paper.results.calibrated_tasks import CalibratedTasks
from privee.paper.results.diagrams import Diagrams
from privee.paper.results.repeated_query_curves import RepeatedQueries, RepeatedQueriesEverywhere
from privee.paper.results.runtime import Runtime

for _result in (
    Runtime(),
    AccuracyChange(),
    AttackTable("grna", 25),
    AttackTable("grna", 50),
    AttackTable("grna", 75),
    AttackTable("gia", 25),
    AttackTable("gia", 50),
    AttackTable("gia", 75),
    GiaByClients(),
    GrnaByClients(),
    GrnaByRho(),
    BaselineAccuracy(),
    RepeatedQueries(),
    CifarByRho(),
    DriveByClients(),
    AmplitudeSearch(),
    Diagrams(),
    EquationSolvingTable(),
    ClientsEverywhere(),
    RhoEverywhere(),
    RepeatedQueriesEverywhere(),
    CalibratedTasks(),
):
    register(_result)

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
    "known_results",
    "load_outcome",
    "measure_all",
    "measure_result",
    "printed",
    "register",
    "save_outcome",
    "write_report",
]

"""The paper, result by result: measured here, beside what is printed."""

from privee.paper.accuracy import AccuracyChange, BaselineAccuracy
from privee.paper.amplitude import AmplitudeSearch
from privee.paper.attack_tables import AttackTable
from privee.paper.base import Result, find_result, measure, register, results
from privee.paper.bench import Bench, Case
from privee.paper.by_clients import ClientsEverywhere, DriveByClients, GiaByClients, GrnaByClients
from privee.paper.by_rho import CifarByRho, GrnaByRho, RhoEverywhere
from privee.paper.calibrated_tasks import CalibratedTasks
from privee.paper.diagrams import Diagrams
from privee.paper.equation_solving import EquationSolvingTable
from privee.paper.everything import measure_all
from privee.paper.printed import printed
from privee.paper.repeated_queries import RepeatedQueries, RepeatedQueriesEverywhere
from privee.paper.report import write_report
from privee.paper.results import Account, Outcome, Row, Size, Value
from privee.paper.runtime import Runtime
from privee.paper.saving import load_outcome, save_outcome

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
    "load_outcome",
    "measure",
    "measure_all",
    "printed",
    "register",
    "results",
    "save_outcome",
    "write_report",
]

"""One audit and its page."""

import pytest

from privee.audit.report import render_report
from privee.audit.results import Audit
from tests._support.made_audits import make_audit


@pytest.fixture(scope="session")
def audit() -> Audit:
    return make_audit(subjects=3)


@pytest.fixture(scope="session")
def page(audit) -> str:
    return render_report(audit)

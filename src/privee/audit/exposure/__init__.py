"""Exposure by column and by record: which private column is told best, and about how many people."""

from privee.audit.exposure.findings import Bound, ColumnExposure, ColumnFinding, PeopleExposure, QuestionFinding

__all__ = ["Bound", "ColumnExposure", "ColumnFinding", "PeopleExposure", "QuestionFinding"]

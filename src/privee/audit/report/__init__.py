"""The audit as one self-contained HTML page: no network, no script, readable on a phone and on paper."""

from privee.audit.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]

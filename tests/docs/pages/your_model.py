"""The model is the page's own; the audit is a small one."""

from tests._support.reader.worlds import QUICK_AUDIT, small_audit

SMALLER = {"privee audit": QUICK_AUDIT, "privee recommend": "--records 10 --auxiliary 40 --jobs 1"}
prepare = small_audit

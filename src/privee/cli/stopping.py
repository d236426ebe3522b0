"""Commands that start servers of their own end them too, however they are told to stop."""

from __future__ import annotations

import signal
import sys


def stop_in_order() -> None:
    """On SIGTERM, or when the terminal is closed: leave by the usual way out, which ends what was started."""
    for which in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(which, lambda number, _: sys.exit(128 + number))

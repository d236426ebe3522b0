"""Numbers as people read them."""

from __future__ import annotations

from privee.audit.results import Estimate

SMALLEST = 1e-4


def figure(value: float) -> str:
    """Four decimals, three where that is plenty.

    Example:
        >>> figure(0.00071), figure(0.2873), figure(18.61), figure(3e-9), figure(0.0)
        ('0.0007', '0.287', '18.6', '< 0.0001', '0')
    """
    if value == 0:
        return "0"
    if value < SMALLEST:
        return "< 0.0001"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def interval(found: Estimate) -> str:
    """The mean with its 95 % interval, if there is one."""
    if found.low is None or found.high is None:
        return figure(found.mean)
    return f"{figure(found.mean)} ({figure(found.low)} to {figure(found.high)})"

"""The demo: what releases keep, what they move, and what an attacker who knows the defense gets back."""

from privee.demo.measure import Curve, Row, compare_defenses, digit_scores, repeated_query_curves
from privee.demo.plot import draw

__all__ = ["Curve", "Row", "compare_defenses", "digit_scores", "draw", "repeated_query_curves"]

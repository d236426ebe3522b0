"""Where the paper's settings and its own tables part: budgets, undefended rows, the constant C.

Settings are facts of its appendix; table entries come from the printed tables, so a wrong one here fails a test.
"""

from __future__ import annotations

from privee.paper.printed import printed_tables

GIA_BUDGETS = (0.5, 1.0)
"""Epsilons of the Gaussian mechanism that the settings name for the tables of GIA."""
SEARCHED = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 0.5, 0.7, 1.0)
"""Values of C that the search went over."""
CHOSEN, IN_REPEATED_QUERIES = 0.48, 0.485
"""C as chosen by that search, and as used in the experiment on repeated queries."""
STRENGTHS = (25, 50, 75)
ADULT_TEST_ROWS = {"<=50K": 12_435, ">50K": 3_846}
"""Of the official split."""


def budgets_printed(table: str) -> tuple[float, ...]:
    """Epsilons that a table of GIA has columns or rows for.

    Example:
        >>> budgets_printed("gia_mse_strength_50"), budgets_printed("gia_mse_mnist_strength_50_by_clients")
        ((0.5, 0.7), (0.5, 1.0))
    """
    found = printed_tables()[table]
    names = found if "gaussian-0.5" in found else next(iter(found.values()))
    return tuple(float(name.removeprefix("gaussian-")) for name in names if name.startswith("gaussian-"))


def undefended_beside_rounding(attack: str, dataset: str) -> list[tuple[float, float, float]]:
    """By strength: undefended, rounded to one digit, rounded to two digits."""
    rows = [printed_tables()[f"{attack}_mse_strength_{strength}"][dataset] for strength in STRENGTHS]
    return [(row["none"]["mean"], row["rounding-1"]["mean"], row["rounding-2"]["mean"]) for row in rows]


def rounding_helps_the_attack() -> list[str]:
    """Where the figure behind rounding to two digits is less than half of the undefended one: rounding adds error."""
    return [
        f"{attack.upper()} {strength} %, {dataset} ({none:g} undefended, {rounded:g} rounded)"
        for attack in ("grna", "gia")
        for dataset in printed_tables()[f"{attack}_mse_strength_50"]
        for strength, (none, _, rounded) in zip(STRENGTHS, undefended_beside_rounding(attack, dataset), strict=True)
        if rounded < none / 2
    ]


def chosen_amplitude_was_searched() -> bool:
    """Is the chosen C among those that the search went over?"""
    return CHOSEN in SEARCHED


def majority_of_adult() -> float:
    """Percent of Adult's test rows that are right if the larger class is always the answer.

    Example:
        >>> round(majority_of_adult(), 2)
        76.38
    """
    return 100.0 * max(ADULT_TEST_ROWS.values()) / sum(ADULT_TEST_ROWS.values())

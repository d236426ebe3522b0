"""What an order tells that may be asked for again with chosen own columns, in one line for every guarantee."""

from __future__ import annotations

HALVINGS = 5


def questions_to_halve(n_classes: int, shown: int | None = None) -> int:
    """How many questions halve every open difference between logits, if the order of so many leading classes is shown.

    One where the whole ranking is (None). The strategy and its proof: `privee.theory.bisect`, docs/chosen_questions.md.

    Example:
        >>> questions_to_halve(10), questions_to_halve(10, shown=3), questions_to_halve(10, shown=1)
        (1, 3, 9)
    """
    together = n_classes - 1 if shown is None else min(shown, n_classes - 1)
    return -(-(n_classes - 1) // together)


def asked_again(n_classes: int, shown: int | None = None) -> str:
    """For `Guarantee.not_covered` of a release that shows the order of so many leading classes (None: of all)."""
    each = questions_to_halve(n_classes, shown)
    halve = "each question halves" if each == 1 else f"every {each} questions halve"
    return (
        f"chosen own columns: {halve} what is open of an additive model's private part, "
        f"{HALVINGS * each} leave 1/{2**HALVINGS} (docs/chosen_questions.md)"
    )

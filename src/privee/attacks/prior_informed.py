"""Prior-informed (MAP): match the scores, and stay near what auxiliary rows say the columns look like."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from torch import Tensor

from privee.attacks.base import Attack, Needs
from privee.attacks.most_likely import Problem, trust_in_release
from privee.attacks.registry import register
from privee.attacks.view import AttackerView
from privee.attacks.watch import Watch
from privee.errors import PriveeError


@register
@dataclasses.dataclass(frozen=True, kw_only=True)
class PriorInformed(Attack):
    """Starts from the regression guess; the release pulls away from it as far as it can be trusted.

    The prior is Gaussian: the regression from own columns, and the covariance of what it leaves. The trust in each
    log-score, by rank position, is measured by simulating releases of the auxiliary rows (an attacker who ignores the
    defense trusts them all alike).

    Args:
        iterations: steps of Adam.
        learning_rate: of Adam.
    """

    name: ClassVar[str] = "prior-informed"
    place: ClassVar[int] = 50
    summary: ClassVar[str] = "most likely columns given release and auxiliary rows"
    needs: ClassVar[Needs] = Needs(gradients=True, auxiliary=True)
    audited: ClassVar[tuple[str, ...]] = ("prior-informed",)
    quick: ClassVar[bool] = True
    adapts: ClassVar[str] = "undoes what is public of the defense, and measures on its own copy how far to trust that"

    iterations: int = 400
    learning_rate: float = 0.02

    def _reconstruct(self, view: AttackerView, watch: Watch) -> Tensor:
        rows = view.auxiliary
        if rows is None:
            raise PriveeError("the prior-informed attack needs auxiliary rows")
        problem = Problem(view, rows, self.iterations, self.learning_rate, watch)
        trust = trust_in_release(view, problem).share if view.adaptive else 1.0
        return problem.solve("columns", view.own, problem.guess(view.own), view.target, trust)

"""The section on printed figures that do not fit together: every number in it is computed from the printed tables."""

from __future__ import annotations

from collections.abc import Mapping

from privee.paper.measure.agreement import CLOSE
from privee.paper.measure.contradictions import (
    HALF,
    PrintedFigure,
    above_any_guess,
    beyond_reach,
    confident,
    met_as,
    printed_figures,
    rises_with_rho,
    two_values,
)
from privee.paper.measure.settings_and_tables import (
    CHOSEN,
    GIA_BUDGETS,
    IN_REPEATED_QUERIES,
    SEARCHED,
    budgets_printed,
    chosen_amplitude_was_searched,
    majority_of_adult,
    rounding_helps_the_attack,
    undefended_beside_rounding,
)
from privee.paper.outcomes import Outcome
from privee.paper.printed import PRIVEE_U, PRIVEE_U_AS_RELEASED, printed_tables
from privee.paper.report.markdown_tables import markdown


def notes(outcomes: Mapping[str, Outcome]) -> str:
    """Write the section on figures that do not fit together."""
    parts = ["## Printed figures that do not fit together", _what_is_printed(outcomes), _two_values(), _settings()]
    return "\n\n".join([*parts, _undefended(), _accuracies(), _bound(), _beyond(beyond_reach())])


def _what_is_printed(outcomes: Mapping[str, Outcome]) -> str:
    count, near = met_as(outcomes.values())
    above, of = above_any_guess()
    compared = (
        f"Of {count} printed figures compared in the tables of this page, {near['confidence_residual']} lie within "
        f"{CLOSE:.0%} of our confidence residual and {near['feature_mse']} within {CLOSE:.0%} of our feature MSE."
        f"{_left_to_parts(outcomes)}"
        if count
        else "No table of attacks was measured here at the paper's settings, so nothing is compared."
    )
    sure = confident()
    return (
        "**What the attack tables print.** They are headed as the error of reconstructed columns. Columns lie in "
        f"[0, 1], where the answer 0.5 errs by at most {HALF:g}; {above} of the {of} figures in the six tables by "
        "strength are larger. The attack's own loss, the mean square of the model's scores minus the released values "
        "(confidence residual), is of the printed size: for a confident model of ten classes behind PRIVEE-U it is "
        f"{sure[PRIVEE_U]:.1f} with draws up to 1, as published, and {sure[PRIVEE_U_AS_RELEASED]:.1f} with draws up "
        f"to 3. {compared} Where an attack errs more than a guess without any release, even undefended, its figures "
        "say how far scores were moved, not what the columns keep."
    )


def _left_to_parts(outcomes: Mapping[str, Outcome]) -> str:
    """Tables measured with Boldyreva's scheme alone leave the paper's OPE to the re-enacted code."""
    defenses = {row.where.get("defense") for outcome in outcomes.values() for row in outcome.rows}
    if "ope" not in defenses or "fh-ope" in _compared(outcomes):
        return ""
    return (
        " OPE's are not among them: these tables hold Boldyreva's scheme, the paper means the frequency-hiding one, "
        "which is measured, with its rank surrogate, under as-released."
    )


def _compared(outcomes: Mapping[str, Outcome]) -> set[str]:
    """Defenses that some table of attacks compares with printed figures."""
    every = (row for outcome in outcomes.values() for row in outcome.rows)
    return {str(row.where["defense"]) for row in every if "confidence_residual" in row.printed}


def _two_values() -> str:
    by_clients, by_rho = two_values()
    rises = " and ".join(f"from {a} to {b}" for a, b in rises_with_rho())
    return (
        "**One setting, two values.** GRNA on MNIST with 25 clients and rho = 0.1 is printed twice: "
        f"{by_clients:.2f} in the table by clients, {by_rho:.2f} in the table by rho, {by_clients / by_rho:.1f} times "
        f"apart. The table by rho rises between neighbours {rises}, while the text has the error fall with rho."
    )


def _settings() -> str:
    said, shown = (_listed(some) for some in (GIA_BUDGETS, budgets_printed("gia_mse_strength_50")))
    by_clients = _listed(budgets_printed("gia_mse_mnist_strength_50_by_clients"))
    grid = ", ".join(f"{value:g}" for value in SEARCHED)
    return (
        f"**Settings and tables.** The Gaussian mechanism's epsilons for GIA are {said} in the settings; the three "
        f"tables of GIA by strength have {shown}, the one by clients {by_clients}. The constant C = {CHOSEN:g} is the "
        f"outcome of a search over {grid}, where it is {'' if chosen_amplitude_was_searched() else 'not '}among; the "
        f"experiment on repeated queries has {IN_REPEATED_QUERIES:g}. The text on GIA calls its figures errors of "
        "confidence scores, the tables' heading and the definition of the metric errors of columns."
    )


def _undefended() -> str:
    rows = undefended_beside_rounding("grna", "cifar100")
    none, rounded = (" / ".join(f"{row[k]:g}" for row in rows) for k in (0, 2))
    helped = rounding_helps_the_attack()
    return (
        f"**Rounding that helps.** GRNA on CIFAR-100 at 25, 50, 75 % is printed with {none} undefended and {rounded} "
        "behind rounding to two digits, which moves a score by 0.005 at most and cannot take away error. Such rows, "
        f"with less than half of the undefended figure behind rounding: {'; '.join(helped)}."
    )


def _accuracies() -> str:
    table = printed_tables()["baseline_accuracy"]
    adult, ten, hundred = (table[name]["inference"] for name in ("adult", "cifar10", "cifar100"))
    return (
        f"**Accuracies.** Adult is printed with {adult:.2f} % of its test rows right, under a text that calls all "
        f"baselines accurate; its larger class is {majority_of_adult():.2f} % of them, so to answer that class always "
        f"is right more often. CIFAR-100 is printed with {hundred:.2f} %, near the {ten:.2f} % of CIFAR-10 for ten "
        "times as many classes; the released code loads CIFAR-10 for both. Drive and Adult have one accuracy for two "
        "kinds of models, network and logistic."
    )


def _listed(values: tuple[float, ...]) -> str:
    return " and ".join(f"{value:g}" for value in values)


def _bound() -> str:
    beyond, of = beyond_reach(), len(printed_figures())
    any_draws = sum(figure.value > figure.bound for figure in beyond)
    return (
        "**Figures no residual can reach.** Scores of the model and true scores are probability vectors, so without a "
        "defense the residual is at most 2 / K, and behind PRIVEE it has a largest value as well "
        "(`privee.paper.measure.contradictions`; as the released code has it: draws of PRIVEE-U up to 3, of PRIVEE-U+ "
        "up to 1 with rho from 0.1 for the leading class down to 0.05, since neither is printed). "
        f"{len(beyond)} of {of} printed figures, undefended or behind PRIVEE, are above the largest mean over draws; "
        f"{any_draws} of them are above the largest value for any draws. They are not residuals of this release, so "
        "the tables do not all print the same quantity, or not from the settings they name."
    )


def _beyond(figures: list[PrintedFigure]) -> str:
    head = ("table", "where", "printed", "largest mean", "largest for any draws")
    body = [[f.table, f.where, f"{f.value:g}", f"{f.mean_bound:.3g}", f"{f.bound:.3g}"] for f in figures]
    return markdown(head, body, 2)

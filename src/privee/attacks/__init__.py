"""Attacks: one file each, one contract, and nothing to work with but an `AttackerView`.

A new attack is a new file here with `@register`; the names below are for readers and type checkers.
"""

from privee.extras import require

require("privee.attacks", "torch", "sklearn", extra="audit")

from privee.attacks.base import Attack, Needs, Reconstruction
from privee.attacks.boosted_trees import BoostedTrees
from privee.attacks.chebyshev_centre import ChebyshevCentre
from privee.attacks.chosen import ChosenColumns
from privee.attacks.embedding_inversion import EmbeddingInversion
from privee.attacks.equation_solving import EquationSolving
from privee.attacks.gradient_inversion import GradientInversion
from privee.attacks.grna_generator import GrnaGenerator
from privee.attacks.grna_paper import GrnaPaper
from privee.attacks.learned_inversion import LearnedInversion
from privee.attacks.logistic_regression import LogisticRegression
from privee.attacks.network_inversion import NetworkInversion
from privee.attacks.prior_informed import PriorInformed
from privee.attacks.registry import attack, known_attacks, paper_attack, register
from privee.attacks.repeated_query import RepeatedQuery
from privee.attacks.sealed_code import SealedCode
from privee.attacks.shadow_inversion import ShadowInversion
from privee.attacks.view import AttackerView, Auxiliary
from privee.attacks.watch import Watch
from privee.attacks.white_box import WhiteBox, white_box_of
from privee.attacks.zeroth_order import ZerothOrder

__all__ = [
    "Attack",
    "AttackerView",
    "Auxiliary",
    "BoostedTrees",
    "ChebyshevCentre",
    "ChosenColumns",
    "EmbeddingInversion",
    "EquationSolving",
    "GradientInversion",
    "GrnaGenerator",
    "GrnaPaper",
    "LearnedInversion",
    "LogisticRegression",
    "Needs",
    "NetworkInversion",
    "PriorInformed",
    "Reconstruction",
    "RepeatedQuery",
    "SealedCode",
    "ShadowInversion",
    "Watch",
    "WhiteBox",
    "ZerothOrder",
    "attack",
    "known_attacks",
    "paper_attack",
    "register",
    "white_box_of",
]

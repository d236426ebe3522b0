"""Records that may be asked about with own columns of one's choice; what was asked is kept."""

import numpy as np
import torch
from torch import Tensor

import privee
from privee.attacks import AttackerView, Auxiliary, WhiteBox

OWN, UNKNOWN, CLASSES = 6, 3, 4


class AskedRecords:
    """A model with records under attack and rows known in full."""

    def __init__(self, model: WhiteBox, own: Tensor, truth: Tensor, auxiliary: Auxiliary | None) -> None:
        self.model, self.own, self.truth, self.auxiliary = model, own, truth, auxiliary
        self.asked: list[Tensor] = []

    def view(self, spec: str, *, seed: int = 0) -> AttackerView:
        """A fresh one, with nothing asked yet and draws from the beginning."""
        defense, draws = privee.defense(spec), privee.seeded(seed, "oracle")
        self.asked = []

        def oracle(own: Tensor) -> Tensor:
            self.asked.append(own.clone())
            with torch.no_grad():
                scores = self.model.scores(own, self.truth).numpy()
            return torch.from_numpy(np.asarray(defense.release(scores, draws=draws)))

        nothing = torch.zeros(1, len(self.own), self.model.n_classes, dtype=torch.float64)
        return AttackerView(self.own, self.model, nothing, defense, True, self.auxiliary, oracle=oracle)

    def errors(self, found: Tensor) -> list[float]:
        """Mean square after 0, 1, 2 ... questions."""
        return (found - self.truth).square().mean(dim=(1, 2)).tolist()


def small_records(kind: str = "logistic", *, rows: int = 30, auxiliary: int = 200, seed: int = 1) -> AskedRecords:
    """Own and private columns that are a little related; `kind` is logistic, additive, bent, numpy or blind."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=random, dtype=torch.float64)

    own_weights, weights = 3 * normal(CLASSES, OWN), 3 * normal(CLASSES, UNKNOWN)
    own = torch.rand(rows + auxiliary, OWN, generator=random, dtype=torch.float64)
    unknown = 0.3 * own[:, :UNKNOWN] + 0.7 * torch.rand(len(own), UNKNOWN, generator=random, dtype=torch.float64)

    def logits(own: Tensor, unknown: Tensor) -> Tensor:
        part = unknown @ weights.T
        if kind == "additive":
            return own @ own_weights.T + 3 * torch.tanh(part / 3)
        if kind == "bent":
            return own @ own_weights.T + part + torch.tanh(own[:, :CLASSES] * part)
        if kind == "numpy":
            return torch.from_numpy((own @ own_weights.T + part).detach().numpy().round(3))
        return own @ own_weights.T + part * (kind != "blind")

    sizes = {"own_columns": OWN, "unknown_columns": UNKNOWN, "n_classes": CLASSES}
    all_weights = torch.cat([own_weights, weights], dim=1) if kind == "logistic" else None
    model = WhiteBox(logits, weights=all_weights, **sizes)
    known = Auxiliary(own[rows:], unknown[rows:]) if auxiliary else None
    return AskedRecords(model, own[:rows], unknown[:rows], known)

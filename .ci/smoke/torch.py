"""A module at the end of a model."""

import torch

from privee.adapters.torch import ReleasedScores

release = ReleasedScores("ranking-only", outputs="logits").eval()(torch.tensor([[0.1, 2.0, 1.0]]))
assert release.argmax().item() == 1, release

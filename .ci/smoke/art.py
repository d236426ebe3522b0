"""A postprocessor for the Adversarial Robustness Toolbox."""

import numpy as np

from privee.adapters.art import DefensePostprocessor

release = DefensePostprocessor("label-only")(np.array([[0.2, 0.7, 0.1]]))
assert release.argmax() == 1, release

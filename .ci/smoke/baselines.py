"""Encrypted baselines: the top of a score vector found under homomorphic encryption."""

import numpy as np

import privee

scores = np.array([[0.1, 0.6, 0.25, 0.05]])
release = privee.EncryptedTopK(k=2).release(scores)
assert release.argmax() == 1, release

"""A booster of LightGBM that gives releases."""

import lightgbm
import numpy as np

from privee.adapters.boosters import protect_booster

rng = np.random.default_rng(0)
rows = rng.normal(size=(200, 3))
settings = {"objective": "multiclass", "num_class": 3, "verbose": -1, "num_threads": 1}
booster = lightgbm.train(settings, lightgbm.Dataset(rows, rng.integers(0, 3, 200)), 5)
release = protect_booster(booster, "ranking-only").predict(rows)
assert (release.argmax(axis=1) == booster.predict(rows).argmax(axis=1)).all()

"""A booster of XGBoost that gives releases."""

import numpy as np
import xgboost

from privee.adapters.boosters import protect_booster

rng = np.random.default_rng(0)
rows = rng.normal(size=(200, 3))
settings = {"objective": "multi:softprob", "num_class": 3, "nthread": 1}
booster = xgboost.train(settings, xgboost.DMatrix(rows, rng.integers(0, 3, 200)), 5)
release = protect_booster(booster, "ranking-only").predict(rows)
assert (release.argmax(axis=1) == booster.predict(xgboost.DMatrix(rows)).argmax(axis=1)).all()

"""A scikit-learn model in a safe file, read as the gateway reads it."""

import skops.io
from sklearn.linear_model import LogisticRegression

model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
skops.io.dump(model, "model.skops")
assert not skops.io.get_untrusted_types(file="model.skops")
assert skops.io.load("model.skops").predict([[1.0]]) == 1

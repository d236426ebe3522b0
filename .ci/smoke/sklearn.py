"""A classifier of scikit-learn whose probabilities are releases."""

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from privee.adapters.sklearn import ProtectedClassifier

rows, labels = load_iris(return_X_y=True)
model = ProtectedClassifier(LogisticRegression(max_iter=500), "ordered-dp:epsilon=4").fit(rows, labels)
release = model.predict_proba(rows)
assert (release.argmax(axis=1) == model.predict(rows)).all()

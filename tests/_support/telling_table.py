"""A table of three parties whose mean hides what matters: one rare category decides the label, the rest is noise."""

import dataclasses

import numpy as np
from scipy.special import softmax

from privee.audit import Subject, subject_from_arrays
from privee.data.columns import SourceColumn

OUTCOMES = ("success", "failure", "unknown")
MONTHS = tuple("abcdefgh")


def telling_subject(rows: int = 1500, seed: int = 0, *, ignores: bool = False) -> Subject:
    """Own: four numbers. Call centre: outcome (a category) and campaign (a heavy-tailed number). Bureau: month, loan.

    `ignores` gives a model that uses own columns alone, so that no release of it says anything about the others.
    """
    rng = np.random.default_rng(seed)
    own = rng.random((rows, 4))
    outcome = np.eye(3)[rng.choice(3, rows, p=[0.06, 0.1, 0.84])]
    campaign = np.minimum(rng.geometric(0.35, rows), 30) / 30
    month = np.eye(8)[rng.integers(0, 8, rows)]
    loan = rng.random(rows) < 0.2
    private = np.column_stack([outcome, campaign, month, loan]).astype(float)
    weights = np.concatenate([[2, -2, 1, 0], [4, 0, 0], [-0.5], np.zeros(8), [0.3]])
    if ignores:
        weights[4:] = 0

    def model(active, passive):
        odds = np.hstack([active, passive]) @ weights - 2
        return softmax(np.column_stack([np.zeros(len(odds)), odds]), axis=1)

    labels = (rng.random(rows) < model(own, private)[:, 1]).astype(int)
    subject = subject_from_arrays(model, own, private, labels=labels, name="campaign")
    described = (
        *(column for column in subject.described if column.party == "active"),
        SourceColumn(name="outcome", party="calls", kind="category", places=(4, 5, 6), values=OUTCOMES),
        SourceColumn(name="campaign", party="calls", kind="number", places=(7,)),
        SourceColumn(name="month", party="bureau", kind="category", places=tuple(range(8, 16)), values=MONTHS),
        SourceColumn(name="loan", party="bureau", kind="number", places=(16,)),
    )
    return dataclasses.replace(subject, described=described)

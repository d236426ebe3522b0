"""The label alone."""

import privee


def test_label_only_is_argmax(scores):
    release = privee.LabelOnly().release(scores)
    assert (release.sum(axis=1) == 1).all()
    assert (release.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert privee.LabelOnly().release([0.4, 0.4, 0.2]).tolist() == [1, 0, 0]

"""Record alignment: two parties' common ids, by private set intersection."""

from privee.data.alignment import align

found = align({"bank": ["c", "a", "b"], "shop": ["b", "x", "c"]}, active="bank")
assert (found.size, found.rows["bank"].tolist(), found.rows["shop"].tolist()) == (2, [2, 0], [0, 2])

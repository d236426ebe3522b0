"""Scores worked out once where nobody is asked: the same bits, no more memory than allowed, and nothing stale."""

import asyncio

import numpy as np
import pytest

from privee.gateway.joint_source import JointSource
from privee.gateway.kept_scores import KeptScores


class Parties:
    """Two parties whose answers are told by an id's length and letters; counts the entities it was asked about."""

    parties = ("bank", "shop")

    def __init__(self, *, unchanging: bool = True) -> None:
        self.unchanging, self.asked = unchanging, 0

    async def embeddings(self, entities, columns=None):
        self.asked += len(entities)
        if "nobody" in entities:
            raise LookupError("nobody")
        own = [[len(entity), 1.0] for entity in entities] if columns is None else columns
        return {
            "bank": np.array(own, dtype=np.float32),
            "shop": np.array([[sum(map(ord, entity)) % 7] for entity in entities], dtype=np.float32),
        }

    def scores(self, embeddings):
        return np.hstack([embeddings["bank"], embeddings["shop"]]).astype(np.float64) / 3


ROW = 2 * 4 + 4 + 3 * 8
"""Bytes that are kept of an entity."""


def kept(parties, most=1 << 20):
    return KeptScores(JointSource(parties, parties), most)


def worked(store, *entities, columns=None):
    return asyncio.run(store.worked_out(entities, columns))


def same(found, parties, entities):
    expected = asyncio.run(Parties().embeddings(entities))
    assert found.embeddings.keys() == expected.keys()
    for party, rows in expected.items():
        assert found.embeddings[party].dtype == rows.dtype
        assert np.array_equal(found.embeddings[party], rows)
    assert np.array_equal(found.scores, parties.scores(expected))
    assert found.scores.dtype == np.float64


def test_what_was_worked_out_is_not_worked_out_again():
    parties = Parties()
    store = kept(parties)
    for entities in (("a", "bb", "a"), ("bb", "a"), ("a", "a"), ("ccc", "bb", "dddd"), ("dddd", "ccc", "bb", "a")):
        same(worked(store, *entities), parties, entities)
    assert len(store) == 4
    assert parties.asked == 3 + 3  # the first request, and the one with two new ones


def test_many_entities_grow_the_room():
    parties, entities = Parties(), tuple(f"{k:x}" for k in range(5000))
    store = kept(parties)
    for start in range(0, 5000, 700):
        worked(store, *entities[start : start + 700])
    asked = parties.asked
    same(worked(store, *entities[::-1]), parties, entities[::-1])
    assert (parties.asked, len(store)) == (asked, 5000)


@pytest.mark.parametrize("most", [0, ROW - 1, 3 * ROW])
def test_no_more_is_kept_than_there_is_room_for(most):
    parties, entities = Parties(), ("a", "bb", "ccc", "dddd", "eeeee")
    store = kept(parties, most)
    for _ in range(2):
        same(worked(store, *entities), parties, entities)
    assert len(store) == most // ROW
    assert parties.asked == 10
    assert sum(part.nbytes for part in store._kept.values()) <= most


def test_nothing_is_kept_of_parties_that_are_asked_or_of_columns_that_came_along():
    asked = Parties(unchanging=False)
    store = kept(asked)
    worked(store, "a")
    worked(store, "a")
    assert (asked.asked, len(store)) == (2, 0)
    parties = Parties()
    store = kept(parties)
    same(worked(store, "a"), parties, ("a",))
    found = worked(store, "a", columns=np.array([[5.0, 6.0]], dtype=np.float32))
    assert found.embeddings["bank"].tolist() == [[5.0, 6.0]]
    same(worked(store, "a"), parties, ("a",))


def test_an_error_stays_an_error_and_keeps_nothing():
    parties = Parties()
    store = kept(parties)
    for _ in range(2):
        with pytest.raises(LookupError):
            worked(store, "a", "nobody")
    assert len(store) == 0


def test_what_is_given_out_is_the_askers_own():
    parties = Parties()
    store = kept(parties)
    for _ in range(2):
        found = worked(store, "a", "bb")
        found.scores[:] = -1
        found.embeddings["bank"][:] = -1
    assert len(store) == 2
    same(worked(store, "a", "bb"), parties, ("a", "bb"))

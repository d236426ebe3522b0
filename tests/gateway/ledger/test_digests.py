"""Keyed digests with the key's part worked out once are HMAC-SHA256 all the same."""

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from privee.durable.secrets import hash_entities, hash_questions, keyed_digests
from privee.errors import PriveeError


@given(st.binary(min_size=1, max_size=64), st.lists(st.binary(max_size=200), max_size=5))
def test_hmac(key, messages):
    assert keyed_digests(key, messages) == [hmac.digest(key, message, "sha256") for message in messages]


def test_ids_and_questions():
    key = b"k" * 32
    assert hash_entities(key, ["17", "ä"]) == [hmac.digest(key, text.encode(), "sha256") for text in ("17", "ä")]
    assert hash_questions(key, [b"e"], [b"q"]) == [hmac.digest(key, b"eq", "sha256")]
    with pytest.raises(PriveeError, match="UTF-8"):
        hash_entities(key, ["\ud800"])


def test_a_key_that_would_be_another_one():
    """HMAC hashes longer keys first; none of ours is, and one that is must not be taken for another."""
    with pytest.raises(PriveeError, match="at most 64 bytes"):
        keyed_digests(b"k" * 65, [b""])

"""A party that agreed to send codes sends something else: one clear line, nothing released, nothing charged."""

import numpy as np
import pytest

from privee.party.wire import EmbedReply, EmbedRequest
from tests._support.sealed_world import PASSIVE, asking

EMBEDDING = {"codes": None, "width": 64}
ONE_NUMBER = {"codes": None, "width": 1}


def numbers(value: float, width: int = 1):
    def reply(request: EmbedRequest, weights: str) -> EmbedReply:
        return EmbedReply(np.full((len(request.entities), width), value, dtype=np.float32), (), weights)

    return reply


def codes(value: int, size: int, more: int = 0):
    def reply(request: EmbedRequest, weights: str) -> EmbedReply:
        found = np.full(len(request.entities) + more, value, dtype=np.uint8)
        return EmbedReply(None, (), weights, found, size)

    return reply


SAYS = {
    "an embedding, having announced codes": ({}, numbers(0.5, 64), "answers with other weights than before"),
    "an embedding, as announced": (EMBEDDING, numbers(0.5, 64), "is sealed with 8 codes, and sent something else"),
    "whole numbers, several": (ONE_NUMBER | {"width": 2}, numbers(3.0, 2), "is sealed with 8 codes"),
    "half a code": (ONE_NUMBER, numbers(2.5), "is sealed with 8 codes, and sent something else"),
    "a code below all": (ONE_NUMBER, numbers(-1.0), "is sealed with 8 codes"),
    "a number like the next code": (ONE_NUMBER, numbers(8.0), "is sealed with 8 codes"),
    "a number beyond all": (ONE_NUMBER, numbers(1e17), "is sealed with 8 codes"),
    "no number": (ONE_NUMBER, numbers(float("nan")), "sent embeddings that cannot be right"),
    "a number without end": (ONE_NUMBER, numbers(float("inf")), "sent embeddings that cannot be right"),
    "a code of more codes": ({"codes": 16}, codes(8, 16), "is sealed with 8 codes, and sent something else"),
    "a code beyond its own": ({}, codes(8, 8), "sent embeddings that cannot be right"),
    "another number of codes than announced": ({}, codes(3, 16), "answers with other weights than before"),
    "too many codes": ({}, codes(3, 8, more=1), "sent embeddings that cannot be right"),
    "too few codes": ({}, codes(3, 8, more=-1), "sent embeddings that cannot be right"),
}


@pytest.fixture(scope="module")
def asked(sealed, tmp_path_factory):
    with asking(sealed[0], tmp_path_factory.mktemp("hostile")) as found:
        yield found


@pytest.mark.parametrize("what", SAYS)
def test_only_codes_that_were_agreed_on_enter(asked, what):
    about, reply, words = SAYS[what]
    party, line = asked.parties[PASSIVE], asked.gateway.service.inference.source._channel._lines[1]
    before, line._about, line._width = party._handler.about, None, None  # as if it was just started
    party.say(**about)
    party.lie = lambda request: reply(request, party.weights).encode()
    try:
        for entities in (("7",), ("7", "8", "9")):
            answer = asked.infer(*entities)
            assert (answer.status_code, answer.json()["code"]) == (502, "party-mismatch"), answer.text
            assert words in answer.json()["error"]
            assert set(answer.json()) == {"error", "code"}
    finally:
        party._handler.about, party.lie = before, None
        line._about, line._width = None, None
    assert asked.charged == 0


def test_the_truth_is_taken(asked, sealed):
    """By the same gateway, after all that."""
    assert np.allclose(asked.scores("7", "8"), sealed[1][7:9], atol=1e-6)
    assert asked.charged == 2

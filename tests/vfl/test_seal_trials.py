"""The draw that counts stands alone: neither codes sent in mid-training nor gradients that come after it bear on it."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from privee.errors import PriveeError
from privee.vfl.messages import Work
from privee.vfl.seal import Seal
from privee.vfl.seal.encoders import JointEncoder
from privee.vfl.seal.party import SealedParty, SealedRecords

ROWS = torch.arange(4000)
SECRET = bytes(range(32))


def party_of(seal: Seal) -> SealedParty:
    encoder = JointEncoder(nn.Identity(), 2, seal, "shop")
    party = SealedParty("shop", torch.zeros(len(ROWS), 2), encoder, records=SealedRecords(secret=SECRET))
    party.learner.start(0.01)
    return party


def choose(party: SealedParty, code: int) -> None:
    """Let the encoder give every record this code."""
    with torch.no_grad():
        party.encoder.head.bias.copy_(10.0 * torch.eye(party.seal.codes)[code])


def sent(party: SealedParty) -> np.ndarray:
    return party.handle(Work(None, ROWS, False)).values.numpy()


def a_step(party: SealedParty) -> None:
    party.handle(Work(None, ROWS[:4], True))
    party.handle(Work(torch.zeros(4, party.seal.codes), None, True))


def test_codes_sent_in_mid_training_tell_nothing_of_the_noise_in_those_that_count():
    """With one word for both, a code that was kept in the one would be kept in the other: a correlation of -1 here.

    Independent draws of 4000 records: beyond 0.1 by chance once in 10**9 runs, and these draws are fixed. A choice that
    stays has the draw that it had, so that asking again tells nothing more.
    """
    party = party_of(Seal(codes=2, epsilon=math.log(3)))
    choose(party, 0)
    first = sent(party)
    assert np.array_equal(first, sent(party))
    a_step(party)
    choose(party, 1)
    second = sent(party)
    counts = party.seal_records()
    assert np.array_equal(counts, second)
    assert abs(np.corrcoef(first, counts)[0, 1]) < 0.1


def test_a_party_takes_no_gradient_after_its_draw():
    party = party_of(Seal(codes=4))
    a_step(party)
    party.handle(Work(None, ROWS[:4], True))
    party.seal_records()
    with pytest.raises(PriveeError, match="the codes of shop are drawn"):
        party.handle(Work(torch.zeros(4, 4), None, True))


@pytest.mark.parametrize(
    ("one", "other", "tight"),
    [
        ({"codes": 8}, {"codes": 8}, True),
        ({"codes": 4}, {"codes": 8}, True),
        ({"codes": 9}, {"codes": 8}, False),
        ({"signs": 3}, {"codes": 8}, True),
        ({"codes": 8, "epsilon": 4.0}, {"codes": 8}, True),
        ({"codes": 8}, {"codes": 8, "epsilon": 4.0}, False),
        ({"codes": 8, "epsilon": 4.1}, {"codes": 8, "epsilon": 4.0}, False),
        ({"codes": 8, "epsilon": 4.0}, {"codes": 8, "epsilon": 4.0}, True),
        ({"codes": 8, "learn": "own"}, {"codes": 8}, True),
        ({"codes": 8}, {"codes": 8, "learn": "own"}, False),
        ({"codes": 16, "epsilon": 1.0, "learn": "own"}, {"codes": 8, "epsilon": 4.0}, False),
    ],
)
def test_which_seal_is_as_tight_as_another(one, other, tight):
    assert Seal(**one).is_as_tight_as(Seal(**other)) is tight

"""Top-k under homomorphic encryption: who holds what, and parts of several parties."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

import privee
from privee.baselines.he.encrypted_session import read_result
from privee.baselines.he.roles import Evaluator, KeyHolder, Sender
from privee.baselines.he.seal import from_bytes, seal


def test_parts_of_two_parties_are_summed_under_encryption(four):
    made = four.plan
    evaluator = Evaluator(made, four.evaluation_keys)
    scores = np.array([[0.1, 0.4, 0.2, 0.3], [0.7, 0.05, 0.05, 0.2], [0.25, 0.25, 0.25, 0.25]])
    own = np.random.default_rng(1).uniform(0, 0.2, scores.shape)
    messages = zip(*(Sender(made, four.encryption_key).encrypt(part / 2) for part in (own, scores - own)), strict=True)
    values = four.decrypt(evaluator.top_k(list(messages)), 3)
    results = [read_result(row, made, 0.0) for row in values]
    assert [result.classes for result in results] == [(1, 3), (0, 3), ()]
    with pytest.raises(privee.PriveeError, match="for 2 senders, got 1"):
        evaluator.top_k([[b""]])
    with pytest.raises(privee.PriveeError, match="1 chunks, got messages for 0"):
        evaluator.top_k([])
    with pytest.raises(privee.PriveeError, match="not a message of this plan"):
        evaluator.top_k([[b"no ciphertext", b"at all"]])


def test_a_sender_refuses_parts_beyond_its_share_of_the_bound(four):
    sender = Sender(four.plan, four.encryption_key)
    with pytest.raises(privee.PriveeError, match=r"row 1: parts differ by more than 0\.5"):
        sender.encrypt(np.array([[0.1, 0.2, 0.3, 0.4], [0.0, 0.0, 0.0, 0.51]]))
    with pytest.raises(privee.PriveeError, match="row 0: parts differ"):
        sender.encrypt(np.array([[np.nan, 0.2, 0.3, 0.4]]))
    with pytest.raises(privee.PriveeError, match="rows of 4 classes"):
        sender.encrypt(np.zeros((1, 5)))


EVALUATE = """
import json, sys
from pathlib import Path
from privee.baselines.he.parameters import Plan
from privee.baselines.he.roles import EvaluationKeys, Evaluator

folder = Path(sys.argv[1])
keys = EvaluationKeys(*((folder / name).read_bytes() for name in ("encryption", "relinearisation", "rotation")))
plan = Plan.from_dict(json.loads((folder / "plan").read_text()))
messages = [[(folder / "a").read_bytes(), (folder / "b").read_bytes()]]
(folder / "result").write_bytes(Evaluator(plan, keys).top_k(messages))
"""


def test_an_evaluator_in_another_process_works_from_bytes_alone(four, tmp_path):
    """All it gets are these six files; a key holder with another secret reads nothing from its result."""
    made = four.plan
    (tmp_path / "plan").write_text(json.dumps(made.as_dict()))
    for name, data in dataclasses.asdict(four.evaluation_keys).items():
        (tmp_path / name).write_bytes(data)
    scores = np.array([[0.05, 0.45, 0.2, 0.3]])
    for name in "ab":
        (message,) = Sender(made, four.encryption_key).encrypt(scores / 2)
        (tmp_path / name).write_bytes(message)
    subprocess.run([sys.executable, "-c", EVALUATE, str(tmp_path)], check=True, capture_output=True)  # noqa: S603
    result = (tmp_path / "result").read_bytes()
    assert read_result(four.decrypt(result)[0], made, 0.0).classes == (1, 3)
    with pytest.raises(privee.PriveeError, match="wrong key"):
        read_result(KeyHolder(made).decrypt(result)[0], made, 0.0)


def test_the_evaluator_and_senders_hold_nothing_that_decrypts(four):
    def kinds(thing, seen):
        if id(thing) in seen:
            return set()
        seen.add(id(thing))
        inner = [kinds(value, seen) for value in getattr(thing, "__dict__", {}).values()]
        return {type(thing).__name__}.union(*inner)

    secret = {"SecretKey", "Decryptor", "KeyGenerator", "KeyHolder"}
    evaluator, sender = Evaluator(four.plan, four.evaluation_keys), Sender(four.plan, four.encryption_key)
    assert "RelinKeys" in kinds(evaluator, set())
    assert not kinds(evaluator, set()) & secret
    assert not kinds(sender, set()) & (secret | {"RelinKeys", "GaloisKeys"})
    assert kinds(four, set()) & secret == {"SecretKey", "KeyHolder"}
    for name, data in dataclasses.asdict(four.evaluation_keys).items():
        with pytest.raises(privee.PriveeError, match="not a message"):  # none of them is a secret key in disguise
            load_as_secret(four, data)
        assert len(data) > 1000, name


def load_as_secret(holder: KeyHolder, data: bytes) -> None:
    from_bytes(seal().SecretKey(), holder._main, data)


def test_the_same_scores_encrypt_differently_each_time(four):
    sender, scores = Sender(four.plan, four.encryption_key), np.full((1, 4), 0.25)
    assert next(sender.encrypt(scores)) != next(sender.encrypt(scores))

"""Keys of repeatable draws: they never show, and their files are private."""

import base64
import copy
import dataclasses
import logging
import pickle
import traceback

import numpy as np
import pytest

import privee
from privee.defenses.repeatable import Repeatable
from privee.defenses.secret_keys import new_key

KEY, OTHER_KEY = bytes(range(32)), bytes(range(1, 33))
U = privee.PriveeU(rho=0.1)


FOUR = np.array([0.4, 0.3, 0.2, 0.1])


def repeatable(defense=U, key=KEY, model_version="v1") -> Repeatable:
    return Repeatable(defense, key=key, model_version=model_version)


def caught(action) -> str:
    with pytest.raises((privee.PriveeError, ValueError, TypeError, AttributeError)) as error:
        action()
    return f"{error.value!r} {error.value}"


def shown(key: bytes, texts: list[str]) -> list[str]:
    """The ways to write the start of the key that appear in the texts."""
    start = key[:15]
    written = [repr(start)[2:-1], start.hex(), base64.b64encode(start).decode(), str(list(start))[1:-1]]
    return [form for form in written for text in texts if form in text]


def test_the_key_never_shows(caplog):
    key = new_key()
    held = repeatable(key=key)
    logging.getLogger("privee").warning("%s %r %s %s", held, held, vars(held), dataclasses.asdict(held))
    texts = [
        caplog.text,
        caught(lambda: pickle.dumps(held)),
        caught(lambda: copy.deepcopy(held)),
        caught(lambda: dataclasses.replace(held, model_version="v2")),
        caught(
            lambda: setattr(held, "defense", privee.Rounding(2))
        ),  # else the draws of one defense could be another's
        caught(lambda: held.release(FOUR, entities=None)),
        caught(lambda: repeatable(key=key[:15])),
        caught(lambda: repeatable(key=key.hex())),
        caught(lambda: repeatable(key=bytearray(key))),
        caught(lambda: repeatable(key=key, model_version="")),
        caught(lambda: repeatable("privee-u:rho=0.1", key=key)),
    ]
    assert "model_version='v1'" in texts[0]
    assert "secret key" in texts[1]
    assert "at least 16 bytes" in texts[6]
    assert not shown(key, texts)
    assert len(shown(key, [f"{key[:15]} {key.hex()}"])) == 2  # it would be noticed
    assert not hasattr(held, "key")


def test_a_traceback_with_local_variables_does_not_show_the_key():
    key = new_key()
    held = repeatable(privee.PriveeUPlus(schedule=(0.1, 0.2)), key=key)
    with pytest.raises(privee.PriveeError, match="the schedule has 2 rank positions") as error:
        held.release(FOUR, entities=7)
    frames = traceback.TracebackException.from_exception(error.value, capture_locals=True).stack
    inside = [str(frame.locals) for frame in frames[1:]]  # the first is this test, which knows the key
    assert any("model_version='v1'" in text for text in inside)
    assert not shown(key, inside)


def test_a_new_key_is_new():
    assert len(new_key()) == 32
    assert new_key() != new_key()


def test_key_files(tmp_path):
    path = tmp_path / "release.key"
    path.write_bytes(KEY)
    path.chmod(0o600)
    held = Repeatable.from_key_file(U, path, model_version="v1")
    assert (held.release(FOUR, entities=7) == repeatable().release(FOUR, entities=7)).all()
    for mode in (0o604, 0o602):
        path.chmod(mode)
        with pytest.raises(privee.PriveeError, match=r"everybody can read or write the key file .* chmod 600"):
            Repeatable.from_key_file(U, path, model_version="v1")
    with pytest.raises(privee.PriveeError, match=r"cannot read the key file .*: No such file"):
        Repeatable.from_key_file(U, tmp_path / "absent", model_version="v1")

"""PRIVEE-U+ and its schedules."""

import pytest

import privee


def test_schedule_length_must_fit_the_scores():
    defense = privee.PriveeUPlus(schedule=(0.1, 0.2, 0.3))
    with pytest.raises(privee.SettingError, match="3 rank positions, the scores 2 classes"):
        defense.release([0.5, 0.5])


def test_plus_with_one_rho_is_privee_u(scores):
    u, plus = privee.PriveeU(rho=0.2), privee.PriveeUPlus(rho_low=0.2, rho_high=0.2)
    assert (u.release(scores, draws=privee.seeded(1)) == plus.release(scores, draws=privee.seeded(1))).all()

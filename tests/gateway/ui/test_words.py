"""Words and numbers of the dashboard: what is allowed, what was given, and the timeline."""

from pathlib import Path

import pytest

from privee.defenses import defense
from privee.gateway.budget.corollary import Corollary
from privee.gateway.budget.price import UNIT, Price
from privee.gateway.ledger.limits import Limits
from privee.gateway.service import Health
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.allowance import allowance, given
from privee.gateway.ui.overview import status_words
from privee.gateway.ui.timeline import RANGES, beginning, timeline
from tests._support.ledger_cases import allow


def settings(**more) -> GatewaySettings:
    usual = {"run": Path("r"), "parties": {}, "defense": defense("none"), "ledger_url": "", "ledger_key": Path("k")}
    return GatewaySettings(**usual | more)


@pytest.mark.parametrize(
    ("given_settings", "limits", "words"),
    [
        ({}, Limits(), "Each entity may give any number of releases: they are counted, and there is no limit."),
        ({}, allow(releases=1), "Each entity may give 1 release at most."),
        ({}, allow(epsilon=3 * UNIT), "a total epsilon of 3 (simply added up) at most, which is 6 releases."),
        (
            {},
            allow(releases=4, epsilon=3 * UNIT, delta=1e-6),
            "4 releases and a total epsilon of 3 (by basic or advanced composition with delta 1e-06) at most, which "
            "is 4 releases.",
        ),
        ({}, allow(releases=2, window=7 * 86400), "starts anew 7 days after the release it began with"),
        ({"repeatable": True}, Limits(), "The same question again gets the same answer, and is not counted."),
        ({}, Limits((Corollary(9, 0.01, 0.1),)), "to within 1 % of its value stays at or below 10 %"),
    ],
)
def test_what_is_allowed_in_words(given_settings, limits, words):
    assert words in allowance(settings(**given_settings), limits, Price.of_epsilon(0.5))


def test_what_was_given_in_words():
    spent = {"releases": 1200, "epsilon": 0.1 + 0.2}
    assert given(spent, Limits()) == "1,200 releases"
    assert given(spent, allow(releases=5000, epsilon=UNIT)) == "1,200 of 5,000 releases, epsilon 0.3 of 1"


def test_the_status_names_who_is_to_blame():
    assert status_words(Health(ledger=False, parties={})) == "the ledger cannot be read."


def test_the_timeline_has_no_gaps_and_shows_every_request():
    shown, now = RANGES["24h"], 1_700_000_000
    start = beginning(shown, now)
    assert now - 24 * 3600 < start <= now - 23 * 3600
    found = timeline(shown, now, [(start, 1000, 0), (start + 7200, 2, 1), (start - 3600, 50, 50)])
    assert [step.start for step in found.steps] == [start + 3600 * hour for hour in range(24)]
    assert (found.releases, found.refusals, found.most_releases, found.most_refusals) == (1002, 1, 1000, 1)
    assert found.busiest.releases == 1000
    tallest, small = found.bars[0], found.bars[2]
    assert tallest.up == pytest.approx(found.axis - 2)
    assert small.down == small.up == 1.5  # little, but to be seen
    assert all(found.axis - bar.up >= 0 and found.axis + bar.down <= 100 for bar in found.bars)

"""Words and numbers of the dashboard: what is allowed, what was given, and the timeline."""

import datetime
from pathlib import Path

import pytest

from privee.defenses import defense
from privee.gateway.budget.corollary import Corollary
from privee.gateway.budget.price import UNIT, Price
from privee.gateway.channel.party_channel import PartyHealth
from privee.gateway.ledger.limits import Limits
from privee.gateway.ledger.use import Use
from privee.gateway.service import Health
from privee.gateway.settings import GatewaySettings
from privee.gateway.ui.overview import allowance, given, status_words
from privee.gateway.ui.timeline import MOST_DAYS, MOST_STEPS, RANGES, of_days, timeline, up_to_now
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


@pytest.mark.parametrize(
    ("parties", "codes", "words"),
    [
        (("bank", "shop"), (), "both parties answer."),
        (("bank", "shop"), ("shop",), "party bank answers; the codes of shop are here."),
        (("bank", "shop", "lab"), ("shop", "lab"), "party bank answers; the codes of shop and lab are here."),
        (("bank", "shop", "lab"), ("lab",), "both parties answer; the codes of lab are here."),
        (("bank", "shop", "lab"), (), "all 3 parties answer."),
    ],
)
def test_the_status_counts_only_parties_that_are_asked(parties, codes, words):
    health = Health(ledger=True, parties=dict.fromkeys(parties, PartyHealth(True, 0.01)))
    assert status_words(health, codes) == f"the ledger can be read, and {words}"


def test_the_timeline_has_no_gaps_and_shows_every_request():
    span = up_to_now(RANGES["24h"], 1_700_000_000)
    assert 1_700_000_000 - 24 * 3600 < span.since <= 1_700_000_000 - 23 * 3600
    assert [*span.starts] == [span.since + 3600 * hour for hour in range(24)]
    uses = [Use(1000, 0, 4000, 4000), Use(), Use(2, 1, 2, 2), *[Use()] * 21]
    found = timeline(span, uses)
    assert (found.total, found.most_answered, found.most_refused) == (Use(1002, 1, 4002, 4002), 1000, 1)
    assert found.busiest.use.requests == 1000
    tallest, small = found.bars[0], found.bars[2]
    assert tallest.up == pytest.approx(found.axis - 2)
    assert small.down == small.up == 1.5  # little, but to be seen
    assert all(found.axis - bar.up >= 0 and found.axis + bar.down <= 100 for bar in found.bars)
    with pytest.raises(ValueError, match="zip"):
        timeline(span, uses[1:])


@pytest.mark.parametrize(
    ("days", "step"), [(1, 3600), (2, 3600), (3, 21_600), (12, 21_600), (13, 86_400), (365, 30 * 86_400)]
)
def test_a_span_of_days_has_few_steps_and_ends_with_its_last_day(days, step):
    first = datetime.date(2024, 2, 28)
    span = of_days(first, first + datetime.timedelta(days - 1))
    assert (span.step, span.until - span.since) == (step, days * 86_400)
    assert datetime.datetime.fromtimestamp(span.since, datetime.UTC) == datetime.datetime(
        2024, 2, 28, tzinfo=datetime.UTC
    )
    assert 1 <= len(span.starts) <= MOST_STEPS
    longest = of_days(first, first + datetime.timedelta(MOST_DAYS - 1))
    assert len(longest.starts) <= MOST_STEPS

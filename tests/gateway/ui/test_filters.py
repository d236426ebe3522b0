"""What an address may ask for, and the one line that it gets if it may not."""

import datetime
import re
import urllib.parse

import pytest

from privee.gateway.http.problems import DeniedError
from privee.gateway.ledger.use import Chosen
from privee.gateway.ui.filters import Filters, read_filters
from privee.gateway.ui.timeline import MOST_DAYS
from tests._support.local_gateway import text_of, visitor

NOW = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC).timestamp()
DAY = 86_400
MIDNIGHT = int(NOW) // DAY * DAY


def chosen(**asked: str) -> Chosen:
    filters = read_filters(asked.items())
    return filters.chosen(filters.span(NOW))


def test_filters_choose_requests():
    assert chosen(**{"from": "2026-11-15", "to": "2026-11-16"}) == Chosen(MIDNIGHT - DAY, MIDNIGHT + DAY)
    assert chosen(**{"from": "2026-11-16"}) == Chosen(MIDNIGHT, MIDNIGHT + DAY)  # until today
    assert chosen(**{"from": "2026-12-24"}) == Chosen(MIDNIGHT + 38 * DAY, MIDNIGHT + 39 * DAY)
    assert chosen(**{"from": "2026-11-16", "range": "7d"}).since == MIDNIGHT  # days go before a range
    assert chosen(range="30d") == Chosen(MIDNIGHT - 29 * DAY, MIDNIGHT + DAY)
    assert chosen() == chosen(range="24h", consumer="", outcome="", entity="")  # as forms send them
    assert chosen(consumer="3f0a9c2e", outcome="refused") == Chosen(
        chosen().since, chosen().until, "3f0a9c2e", "refused"
    )


def test_an_address_that_is_read_can_be_written_again():
    filters = Filters("7d", "2026-11-01", "2026-11-16", "3f0a9c2e", "refused", "0123456789ab", "30")
    address = filters.link("/ui")
    pairs = [tuple(part.split("=")) for part in address.removeprefix("/ui?").split("&")]
    assert read_filters(pairs) == filters
    assert filters.link("/x", first="", last="", consumer="", outcome="", entity="", refresh="") == "/x?range=7d"
    assert Filters().link("/ui") == "/ui"


PERSON = "kunde1000"
BAD = [
    ("range=x", "Range must be one of 24h, 7d, 30d."),
    ("range=24h&range=7d", "An address holds each of these once at most"),
    ("consumr=3f0a9c2e", "An address holds each of these once at most"),
    (f"consumer=privee_3f0a9c2e_{PERSON * 8}", "Consumer must be the id of an API key, 8 hexadecimal digits."),
    ("consumer=3F0A9C2E", "Consumer must be the id"),
    ("consumer=3f0a9c2e%0a", None),  # blanks around are nothing
    ("consumer=%D9%A3f0a9c2e", "Consumer must be the id"),  # a digit, but not of ours
    ("outcome=answered", "Outcome must be released, refused or refused-variants."),
    (f"entity={PERSON}", "Entity must be a tag, 12 hexadecimal digits; an id is looked up with the form"),
    ("refresh=1", "Refresh must be 30."),
    ("from=16.11.2026", "From must be a day such as 2026-11-16."),
    ("from=20261116", "From must be a day"),
    ("from=2026-02-30", "From must be a day"),
    ("from=0001-01-01", "From must be a day"),
    ("from=2026-11-16&to=9999-12-31", "To must be a day"),
    ("to=2026-11-16", "To needs a first day: give from as well."),
    ("from=2026-11-16&to=2026-11-15", "From must not be after to"),
    ("from=1980-01-01", f"a span has {MOST_DAYS:,} days at most"),
    ("from=1970-01-01&to=9998-12-31", f"a span has {MOST_DAYS:,} days at most"),
    ("%00=%ff&range=%ed%a0%80", "An address holds each of these once at most"),
    ("range=" + "7" * 3000, "Range must be one of"),
]


@pytest.mark.parametrize("page", ["/ui", "/ui/consumers/3f0a9c2e", "/ui/export/requests.csv"])
def test_bad_filters_get_one_clear_line_and_no_echo(local, page):
    local.key("consumer")
    with visitor(local.url, local.key()) as client:
        for query, words in BAD:
            if words is None or ("consumer" in query and "consumers" in page):
                continue
            answer = client.get(f"{page}?{query}")
            assert answer.status_code == 400, query
            assert answer.headers["content-type"].startswith("text/html")
            shown = text_of(answer.text)
            assert words in shown
            assert PERSON not in answer.text
            assert len(re.findall(r'role="alert"', answer.text)) == 1


@pytest.mark.parametrize(("query", "words"), BAD)
def test_every_bad_filter_is_refused_and_nothing_else(query, words):
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    if words is None:
        read_filters(pairs).span(NOW)
        return
    with pytest.raises(DeniedError) as denied:
        read_filters(pairs).span(NOW)
    assert (denied.value.status, "\n" in denied.value.words) == (400, False)

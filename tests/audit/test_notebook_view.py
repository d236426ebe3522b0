"""What notebooks show of audits, scorecards and guarantees: what counts, and no text that is taken for HTML."""

import dataclasses
import html.parser

import pytest

import privee
from tests._support.own_models import small

NASTY = '<img src=x onerror="alert(1)"> & </table>'


class Read(html.parser.HTMLParser):
    """The tags, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style", "scope"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


ALLOWED = {"table", "caption", "strong", "thead", "tbody", "tr", "th", "td", "br"}


def read(thing) -> Read:
    found = Read(thing._repr_html_())
    assert (found.open, found.tags - ALLOWED) == ([], set())
    return found


@pytest.fixture(scope="module")
def found():
    return small(jobs=1)


def test_a_guarantee_shows_what_is_proven_and_what_is_not():
    guarantee = privee.OrderedDP(epsilon=4).guarantee(10)
    text = read(guarantee).text
    for part in (guarantee.proven, guarantee.same, "epsilon 4", *guarantee.assumptions, *guarantee.not_covered):
        assert part in text
    assert "differential privacy" not in read(privee.NoDefense().guarantee(3)).text
    assert NASTY in read(privee.Guarantee(proven=NASTY, not_covered=(NASTY,), figures={NASTY: 1.0})).text


def test_an_audit_shows_every_card_and_a_card_its_verdict(found):
    text = read(found).text
    for card in found.cards:
        assert card.defense in text
        assert card.verdict in text
        shown = read(card).text
        for part in (card.grade, card.verdict, card.headline.attack, card.guarantee, *card.not_covered):
            assert part in shown
    assert "3 of 8 columns private" in text


def test_names_of_others_are_text(found):
    card = dataclasses.replace(found.cards[0], verdict=NASTY, subject=NASTY, not_covered=(NASTY,))
    subject = dataclasses.replace(found.subjects[0], name=NASTY)
    assert NASTY in read(card).text
    assert read(dataclasses.replace(found, cards=(card,), subjects=(subject,))).text.count(NASTY) == 2

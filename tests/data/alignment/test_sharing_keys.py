"""One pass in place of two intersections: earlier versions are understood, and nobody learns more than before."""

import pytest

from privee.data.alignment import ActiveAligner, PassiveAligner, align
from privee.data.alignment.alignment_messages import AlignmentSession, Kind, pack, unpack
from privee.data.alignment.psi import (
    blinded,
    blinded_more,
    new_key,
    points_of_request,
    points_of_response,
    points_of_setup,
    product,
    request_of,
    response_of,
    setup_of,
    undoing,
)
from tests._support.alignment import BANK, CLUB, SHOP, exchange
from tests._support.plain_aligners import PlainActive, PlainPassive

ONE = (1).to_bytes(32)


def nothing(ids):
    """A tick."""


def test_keys_multiply_and_are_undone():
    one, other = new_key(), new_key()
    points = blinded(BANK, one, nothing)
    both = blinded_more(points, other, nothing)
    assert (
        both == blinded(BANK, product(one, other), nothing) == blinded_more(blinded(BANK, other, nothing), one, nothing)
    )
    assert blinded_more(both, undoing(other), nothing) == points
    assert int.from_bytes(product(one, undoing(one))) == 1


def test_an_earlier_active_party_is_answered():
    active, passive = PlainActive(BANK), PassiveAligner(SHOP, name="shop")
    check = passive.check(active.agreement(passive.answer(active.request())))
    assert active.agrees(check)
    assert [SHOP[row] for row in passive.rows()] == active.common == BANK[26:]


def test_an_earlier_passive_party_is_met():
    active, passive = ActiveAligner(BANK, passive=["shop"]), PlainPassive(SHOP)
    active.receive_answer("shop", passive.answer(active.request("shop")))
    active.receive_check("shop", passive.check(active.agreement("shop")))
    assert passive.agreed
    assert [BANK[row] for row in active.rows()] == passive.common == BANK[26:]


def test_earlier_and_present_messages_are_equally_long():
    _, _, today = exchange()
    active, passive = PlainActive(BANK), PlainPassive(SHOP)
    before = [active.request()]
    before.append(passive.answer(before[-1]))
    before.append(active.agreement(before[-1]))
    before.append(passive.check(before[-1]))
    assert [len(message) for message in today] == [len(message) for message in before]


@pytest.mark.parametrize(("bank", "shop"), [(BANK, SHOP), (SHOP, BANK)])
def test_the_shorter_list_is_worked_on(bank, shop):
    done = []
    found = align({"bank": bank, "shop": shop}, active="bank", progress=lambda now, size: done.append((now, size)))
    assert found.size == 14
    assert done[-1][0] == done[-1][1] == 2 * len(bank) + len(shop) + min(len(bank), len(shop))
    assert done[-2] == done[-1]  # nothing was left to count at the end


def test_lists_are_sorted_so_that_rows_do_not_show():
    _, _, (request, answer, agreement, _) = exchange()
    asked = points_of_request(unpack(Kind.REQUEST, request, "bank")[1])
    _, setup, _, own = unpack(Kind.ANSWER, answer, "shop")
    assert asked == sorted(asked)
    assert points_of_request(own) == points_of_setup(setup) == sorted(points_of_setup(setup))
    assert points_of_setup(unpack(Kind.AGREEMENT, agreement, "bank")[0])  # refuses what is not sorted


def test_agreements_say_what_is_common_to_all_and_nothing_else():
    """The passive party could make the whole message itself from its result, but for one random point."""
    messages = {}
    parties = {"bank": BANK, "shop": SHOP, "club": CLUB}
    align(
        parties,
        active="bank",
        carry=lambda sender, to, message: messages.setdefault((sender, to), []).append(message) or message,
    )
    for party in ("shop", "club"):
        request, agreement = messages["bank", party]
        answered = points_of_response(unpack(Kind.ANSWER, messages[party, "bank"][0], party)[2], len(BANK))
        made = dict(zip(points_of_request(unpack(Kind.REQUEST, request, "bank")[1]), answered, strict=True))
        setup, response, _ = unpack(Kind.AGREEMENT, agreement, "bank")
        common, answers = points_of_setup(setup), points_of_response(response, len(parties[party]))
        assert len(common) == 7
        assert set(common) <= set(made)
        others = [point for point in answers if point not in {made[point] for point in common}]
        assert len(others) == len(parties[party]) - 7
        assert len(set(others)) == 1
        assert others[0] not in {*made, *made.values()}


def test_guesses_slipped_into_the_list_are_not_answered():
    """A passive party that adds ids blinded with another key, so that they do not become records, learns nothing."""
    active, session, key = ActiveAligner(BANK, passive=["shop"]), AlignmentSession(), new_key()
    asked = points_of_request(unpack(Kind.REQUEST, active.request("shop"), "bank")[1])
    (guess,) = blinded(BANK[:1], ONE, nothing)
    own = sorted([*blinded(SHOP, key, nothing), guess])
    parts = setup_of(own), response_of(blinded_more(asked, key, nothing)), request_of(own)
    active.receive_answer("shop", pack(Kind.ANSWER, session.public_key, *parts))
    _, response, _ = unpack(Kind.AGREEMENT, active.agreement("shop"), "bank")
    answers = points_of_response(response, len(own))
    assert answers[own.index(guess)] not in asked  # raised to the active party's key it would be there
    assert sum(point in set(blinded_more(asked, key, nothing)) for point in answers) == 14

"""Record alignment: the right records in the same order everywhere, no id on the wire, no damaged message accepted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from private_set_intersection import python as psi

import privee
from privee.data.alignment import ActiveAligner, align
from privee.data.alignment.alignment_messages import Kind, unpack
from privee.data.alignment.psi import PIECE, blinded, new_key, setup_of
from tests._support.alignment import BANK, CLUB, SHOP, exchange, kind_of


def common_ids(parties, found):
    lists = [[parties[name][row] for row in rows] for name, rows in found.rows.items()]
    assert all(one == lists[0] for one in lists), "the parties' orders differ"
    return lists[0]


# Short ids over few characters meet often; NUL, blanks, zeros and accents are where careless comparisons go wrong.
party_ids = st.lists(st.text(alphabet="0 7aé́\x00", min_size=1, max_size=2), min_size=1, max_size=12, unique=True)


@settings(max_examples=60)
@given(st.lists(party_ids, min_size=2, max_size=4), st.integers(0, 3))
def test_agrees_with_set_intersection(lists, who):
    parties = {f"p{i}": ids for i, ids in enumerate(lists)}
    active = f"p{who % len(lists)}"
    expected = set.intersection(*map(set, lists))
    if not expected:
        with pytest.raises(privee.PriveeError, match="have no common ids"):
            align(parties, active=active)
        return
    found = align(parties, active=active)
    assert common_ids(parties, found) == sorted(expected, key=str.encode)
    assert found.size == len(expected)
    assert list(found.rows) == list(parties)
    assert all(rows.dtype == np.int64 for rows in found.rows.values())


def test_more_ids_than_one_piece():
    rng = np.random.default_rng(0)
    size = 2 * PIECE + 77
    parties = {n: [str(i) for i in rng.choice(2 * size, size, replace=False)] for n in ("a", "b", "c")}
    steps = []
    found = align(parties, active="b", progress=lambda done, total: steps.append((done, total)))
    assert set(common_ids(parties, found)) == set(parties["a"]) & set(parties["b"]) & set(parties["c"])
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1] == (8 * size, 8 * size)  # two pairs, four passes each
    assert len(steps) > 20


def test_ids_are_compared_exactly():
    bank = ["7", "007", "Ab", "x ", "é", "e\u0301"]
    found = align({"bank": bank, "shop": ["07", "007", "ab", "x", "e\u0301"]}, active="bank")
    assert [bank[row] for row in found.rows["bank"]] == ["007", "e\u0301"]


def test_traffic_is_counted():
    sizes = []
    parties = {"bank": BANK, "shop": SHOP, "club": CLUB}

    def carry(sender, receiver, message):
        sizes.append((sender, receiver, len(message)))
        return message

    found = align(parties, active="bank", carry=carry)
    for name, traffic in found.messages.items():
        assert traffic.messages_sent == sum(s == name for s, _, _ in sizes) == (4 if name == "bank" else 2)
        assert traffic.bytes_sent == sum(n for s, _, n in sizes if s == name)
        assert traffic.bytes_received == sum(n for _, r, n in sizes if r == name)
        assert traffic.messages_received == traffic.messages_sent


def test_every_meeting_uses_fresh_keys():
    active = ActiveAligner(BANK, passive=["shop", "club"])
    to_shop, to_club = (unpack(Kind.REQUEST, active.request(name), "bank") for name in ("shop", "club"))
    blinded = [set(psi.Request.FromString(parts[1]).encrypted_elements) for parts in (to_shop, to_club)]
    assert len(blinded[0]) == len(blinded[1]) == len(BANK)
    assert not blinded[0] & blinded[1]
    assert to_shop[0] != to_club[0]


def test_setup_messages_are_exact_and_hide_the_order_of_rows():
    """RAW, sorted as a whole even when made in pieces, and the same set as the library makes in one go."""
    ids, key = [f"id-{i}" for i in range(PIECE + 50)], new_key()
    setup = psi.ServerSetup.FromString(setup_of(sorted(blinded(ids, key, lambda n: None))))
    assert setup.WhichOneof("data_structure") == "raw"
    elements = list(setup.raw.encrypted_elements)
    assert elements == sorted(elements)
    assert setup == psi.server.CreateFromKey(key, True).CreateSetupMessage(0.0, 1, ids, psi.DataStructure.RAW)


def test_a_passive_party_is_told_only_what_all_have():
    """The active party's second set holds the ids common to all three, not those it shares with one."""
    agreements = {}

    def carry(sender, receiver, message):
        if kind_of(message) is Kind.AGREEMENT:
            agreements[receiver] = psi.ServerSetup.FromString(unpack(Kind.AGREEMENT, message, sender)[0])
        return message

    found = align({"bank": BANK, "shop": SHOP, "club": CLUB}, active="bank", carry=carry)
    assert found.size == len(set(BANK) & set(SHOP) & set(CLUB)) == 7
    assert len(set(BANK) & set(SHOP)) == 14
    assert {name: len(setup.raw.encrypted_elements) for name, setup in agreements.items()} == {"shop": 7, "club": 7}


def test_roles_agree_without_the_driver():
    active, passive, _ = exchange()
    assert [BANK[row] for row in active.rows()] == [SHOP[row] for row in passive.rows()] == BANK[26:]


@pytest.mark.parametrize(
    ("parties", "message"),
    [
        ({"bank": BANK}, "an alignment needs at least two parties, got 1"),
        ({"shop": SHOP, "club": CLUB}, "no party is called 'bank'; there are shop, club"),
        ({"bank": ["a"], "shop": ["b"]}, "parties bank and shop have no common ids"),
        ({"bank": ["a", "b"], "shop": ["b"], "club": ["c"]}, "parties bank and club have no common ids"),
        ({"bank": ["a", "b"], "shop": ["b"], "club": ["a"]}, "parties bank, shop and club have no common ids"),
        ({"bank": [], "shop": SHOP}, "party bank has no ids"),
        (
            {"bank": [*"abcdefgh", "d", "a", "a", "b"], "shop": SHOP},
            "party bank has 3 duplicate ids; first at data rows 4 and 9",
        ),
        ({"bank": BANK, "shop": ["x", "x"]}, "party shop has 1 duplicate id; first at data rows 1 and 2"),
        ({"bank": ["a", "", None], "shop": SHOP}, "party bank has 2 missing ids; first at data row 2"),
        ({"bank": BANK, "shop": ["a", float("nan")]}, "party shop has 1 missing id; first at data row 2"),
        ({"bank": ["a", 7], "shop": SHOP}, "party bank: ids must be Unicode text; data row 2 holds something else"),
        ({"bank": ["a", "\ud800"], "shop": SHOP}, "party bank: ids must be Unicode text; data row 2"),
    ],
)
def test_bad_input_is_named(parties, message):
    with pytest.raises(privee.PriveeError) as caught:
        align(parties, active="bank")
    assert message in str(caught.value)

"""Messages of an alignment: no id in them, and damaged, forged or replayed ones are refused."""

import hashlib

import pytest
from private_set_intersection import python as psi

import privee
from privee.data.alignment import ActiveAligner, PassiveAligner, align
from privee.data.alignment.alignment_messages import AlignmentSession, Kind, pack, unpack
from privee.data.alignment.meeting import Meeting
from tests._support.alignment import BANK, CLUB, SENDERS, SHOP, exchange, kind_of


def test_no_id_nor_its_digest_is_ever_sent():
    sent = []
    parties = {"bank": BANK, "shop": SHOP, "club": CLUB}
    align(parties, active="bank", carry=lambda sender, receiver, message: sent.append(message) or message)
    everything = b"|".join(sent)
    assert len(sent) == 8
    for value in {*BANK, *SHOP, *CLUB}:
        digest = hashlib.sha256(value.encode())
        for form in (value.encode(), digest.digest(), digest.hexdigest().encode(), value.encode()[:15]):
            assert form not in everything


def tampered(change):
    """Run an alignment where `change(kind, message)` happens on the way; it must never end in a result."""
    with pytest.raises(privee.PriveeError) as caught:
        align(
            {"bank": BANK, "shop": SHOP},
            active="bank",
            carry=lambda sender, receiver, message: change(kind_of(message), message),
        )
    words = str(caught.value)
    assert "\n" not in words
    assert "customer-" not in words
    return words


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("where", [0, 20, 50, 0.5, -1])
def test_damaged_messages_are_refused(kind, where):
    def flip(now, message):
        if now is not kind:
            return message
        place = int(where * len(message)) if isinstance(where, float) else where
        changed = bytearray(message)
        changed[place] ^= 1
        return bytes(changed)

    words = tampered(flip)
    assert SENDERS[kind] in words
    assert "damaged" in words or "something else" in words


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("left", [0, 10, 30, 60, -1, -40])
def test_truncated_messages_are_refused(kind, left):
    words = tampered(lambda now, message: message[:left] if now is kind else message)
    assert SENDERS[kind] in words


def test_messages_with_the_wrong_parts_are_refused():
    def repacked(body):
        return lambda kind, m: m if kind is not Kind.REQUEST else m[:15] + hashlib.sha256(body).digest() + body

    for body in (b"", b"123", b"\0" * 7 + b"\x09" + b"short", b"\0" * 8, b"\0" * 24):
        assert "does not have 2 parts" in tampered(repacked(body))


def drop_one(data, kind):
    message = kind.FromString(data)
    elements = message.raw.encrypted_elements if kind is psi.ServerSetup else message.encrypted_elements
    del elements[len(elements) // 2]
    return message.SerializeToString()


def swap_ends(data, kind):
    message = kind.FromString(data)
    last = len(message.encrypted_elements) - 1
    ends = message.encrypted_elements[0], message.encrypted_elements[last]
    message.encrypted_elements[last], message.encrypted_elements[0] = ends
    return message.SerializeToString()


def moved_on(data, kind):
    """Every element one place further: two of them may be alike, all of them are not."""
    message = kind.FromString(data)
    first, *rest = message.encrypted_elements
    return kind(encrypted_elements=[*rest, first]).SerializeToString()


def spoil_point(data, kind):
    message = kind.FromString(data)
    elements = message.raw.encrypted_elements if kind is psi.ServerSetup else message.encrypted_elements
    elements[len(elements) - 1] = b"\x03" + b"\xff" * 32
    return message.SerializeToString()


SAME = "did not end with the same records"
FORGERIES = {
    "request: swapped": (Kind.REQUEST, 1, lambda data: swap_ends(data, psi.Request), "were found|same records"),
    "request: dropped": (Kind.REQUEST, 1, lambda data: drop_one(data, psi.Request), "another number of ids"),
    "request: no point": (Kind.REQUEST, 1, lambda data: spoil_point(data, psi.Request), "does not hold blinded ids"),
    "request: junk": (Kind.REQUEST, 1, lambda data: b"\x99junk", "does not hold blinded ids"),
    "request: empty": (Kind.REQUEST, 1, lambda data: b"", "holds no ids"),
    "request: key": (Kind.REQUEST, 0, lambda data: AlignmentSession().public_key, SAME),
    "request: weak key": (Kind.REQUEST, 0, lambda data: bytes(32), "unusable public key"),
    "request: short key": (Kind.REQUEST, 0, lambda data: b"short", "unusable public key"),
    "answer: key": (Kind.ANSWER, 0, lambda data: AlignmentSession().public_key, SAME),
    "answer: setup less": (Kind.ANSWER, 1, lambda data: drop_one(data, psi.ServerSetup), SAME),
    "answer: setup junk": (Kind.ANSWER, 1, lambda data: b"\x99junk", "does not hold blinded ids"),
    "answer: setup empty": (Kind.ANSWER, 1, lambda data: b"", "sorted list of blinded ids"),
    "answer: response swapped": (Kind.ANSWER, 2, lambda data: swap_ends(data, psi.Response), "were found|same records"),
    "answer: response less": (Kind.ANSWER, 2, lambda data: drop_one(data, psi.Response), "another number of ids"),
    "answer: request swapped": (Kind.ANSWER, 3, lambda data: swap_ends(data, psi.Request), "were found|same records"),
    "answer: request less": (Kind.ANSWER, 3, lambda data: drop_one(data, psi.Request), "another number of ids"),
    "agreement: setup less": (Kind.AGREEMENT, 0, lambda data: drop_one(data, psi.ServerSetup), SAME),
    "agreement: setup no point": (
        Kind.AGREEMENT,
        0,
        lambda data: spoil_point(data, psi.ServerSetup),
        "does not hold blinded ids|sorted",
    ),
    "agreement: response": (Kind.AGREEMENT, 1, lambda data: moved_on(data, psi.Response), "were found|same records"),
    "agreement: tag": (Kind.AGREEMENT, 2, lambda data: bytes(32), SAME),
    "check: tag": (Kind.CHECK, 0, lambda data: bytes(32), SAME),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_messages_changed_on_the_way_are_refused(name):
    """Someone repairs the checksum too. Dropping one id of a setup would otherwise just lose a record silently."""
    kind, part, change, message = FORGERIES[name]

    def forge(now, data):
        if now is not kind:
            return data
        parts = unpack(kind, data, "anyone")
        parts[part] = change(parts[part])
        return pack(kind, *parts)

    words = tampered(forge)
    assert any(choice in words for choice in message.split("|")), words


def test_replayed_messages_are_refused():
    old = {kind_of(message): message for message in exchange()[2]}
    for kind in Kind:
        tampered(lambda now, message, kind=kind: old[kind] if now is kind else message)


@pytest.mark.parametrize("who", ["active", "passive"])
def test_a_wrong_intersection_is_noticed(monkeypatch, who):
    """What a false positive of a lossy set would do: the same number of records, one of them wrong."""
    whose, ids, method = {"active": (Meeting, BANK, "_matched"), "passive": (PassiveAligner, SHOP, "_found")}[who]
    real = getattr(whose, method)

    def wrong(self, theirs, answers):
        rows = real(self, theirs, answers)
        first, other = next(iter(rows)), next(row for row in range(len(ids)) if row not in rows)
        swapped = [other if row == first else row for row in rows]
        return dict(zip(swapped, rows.values(), strict=True)) if who == "active" else swapped

    monkeypatch.setattr(whose, method, wrong)
    with pytest.raises(privee.PriveeError, match=r"were found|did not end with the same records"):
        align({"bank": BANK, "shop": SHOP}, active="bank")


def test_steps_out_of_turn_are_refused():
    active, passive, sent = exchange()
    refused = [
        lambda: active.request("shop"),
        lambda: active.receive_answer("shop", sent[1]),
        lambda: active.agreement("shop"),
        lambda: active.receive_check("shop", sent[3]),
        lambda: passive.answer(sent[0]),
        lambda: passive.check(sent[2]),
    ]
    for step in refused:
        with pytest.raises(privee.PriveeError, match="out of turn"):
            step()
    fresh = ActiveAligner(BANK, passive=["shop", "club"])
    for step, words in [
        (lambda: fresh.agreement("shop"), "no answer yet from shop, club"),
        (fresh.rows, "no confirmation from shop, club"),
        (PassiveAligner(SHOP).rows, "not aligned yet"),
        (lambda: fresh.request("nobody"), "no passive party is called 'nobody'"),
        (lambda: ActiveAligner(BANK, passive=[]), "at least one passive party"),
    ]:
        with pytest.raises(privee.PriveeError, match=words):
            step()

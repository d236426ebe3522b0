"""Two lists of customers, and one meeting of their aligners."""

from privee.data.alignment import ActiveAligner, PassiveAligner
from privee.data.alignment.alignment_messages import Kind

BANK = [f"customer-{i:06d}@bank.example" for i in range(40)]
SHOP = [f"customer-{i:06d}@bank.example" for i in range(55, 25, -1)]
CLUB = [f"customer-{i:06d}@bank.example" for i in range(20, 60, 2)]
SENDERS = {Kind.REQUEST: "bank", Kind.ANSWER: "shop", Kind.AGREEMENT: "bank", Kind.CHECK: "shop"}


def kind_of(message):
    return next(kind for kind in Kind if message[len(b"privee-align-1") :][:1] == kind.value[0])


def exchange(bank=BANK, shop=SHOP):
    """One pair's aligners and messages."""
    active, passive = ActiveAligner(bank, passive=["shop"], name="bank"), PassiveAligner(shop, name="shop")
    sent = [active.request("shop")]
    sent.append(passive.answer(sent[-1]))
    active.receive_answer("shop", sent[-1])
    sent.append(active.agreement("shop"))
    sent.append(passive.check(sent[-1]))
    active.receive_check("shop", sent[-1])
    return active, passive, sent

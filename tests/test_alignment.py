"""Record alignment: the right records in the same order everywhere, no id on the wire, no damaged message accepted."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as arrow_parquet
import pytest
import typer
from hypothesis import given, settings
from hypothesis import strategies as st
from private_set_intersection import python as psi
from typer.testing import CliRunner

import privee
from privee.cli.align import align_command
from privee.data.alignment import ActiveAligner, PassiveAligner, align
from privee.data.alignment.alignment_messages import Kind, Session, pack, unpack
from privee.data.alignment.psi import SMALLEST_PIECE, PsiClient, PsiServer

BANK = [f"customer-{i:06d}@bank.example" for i in range(40)]
SHOP = [f"customer-{i:06d}@bank.example" for i in range(55, 25, -1)]
CLUB = [f"customer-{i:06d}@bank.example" for i in range(20, 60, 2)]
SENDERS = {Kind.REQUEST: "bank", Kind.ANSWER: "shop", Kind.AGREEMENT: "bank", Kind.CHECK: "shop"}


def common_ids(parties, found):
    lists = [[parties[name][row] for row in rows] for name, rows in found.rows.items()]
    assert all(one == lists[0] for one in lists), "the parties' orders differ"
    return lists[0]


def kind_of(message):
    return next(kind for kind in Kind if message[len(b"privee-align-1") :][:1] == kind.value[0])


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
    size = 2 * SMALLEST_PIECE + 77
    parties = {n: [str(i) for i in rng.choice(2 * size, size, replace=False)] for n in ("a", "b", "c")}
    steps = []
    found = align(parties, active="b", progress=lambda done, total: steps.append((done, total)))
    assert set(common_ids(parties, found)) == set(parties["a"]) & set(parties["b"]) & set(parties["c"])
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)
    assert steps[-1] == (16 * size, 16 * size)  # two pairs, eight passes each
    assert len(steps) > 30


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


def test_every_meeting_uses_fresh_keys():
    active = ActiveAligner(BANK, passive=["shop", "club"])
    to_shop, to_club = (unpack(Kind.REQUEST, active.request(name), "bank") for name in ("shop", "club"))
    blinded = [set(psi.Request.FromString(parts[1]).encrypted_elements) for parts in (to_shop, to_club)]
    assert len(blinded[0]) == len(blinded[1]) == len(BANK)
    assert not blinded[0] & blinded[1]
    assert to_shop[0] != to_club[0]


def test_setup_messages_are_exact_and_hide_the_order_of_rows():
    """RAW, sorted as a whole even when made in pieces, and the same set as the library makes in one go."""
    ids = [f"id-{i}" for i in range(SMALLEST_PIECE + 50)]
    server = PsiServer(ids, lambda n: None)
    setup = psi.ServerSetup.FromString(server.setup())
    assert setup.WhichOneof("data_structure") == "raw"
    elements = list(setup.raw.encrypted_elements)
    assert elements == sorted(elements)
    assert setup == server._worker().CreateSetupMessage(0.0, 1, ids, psi.DataStructure.RAW)


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
    "request: key": (Kind.REQUEST, 0, lambda data: Session().public_key, SAME),
    "request: weak key": (Kind.REQUEST, 0, lambda data: bytes(32), "unusable public key"),
    "request: short key": (Kind.REQUEST, 0, lambda data: b"short", "unusable public key"),
    "answer: key": (Kind.ANSWER, 0, lambda data: Session().public_key, SAME),
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
        "were found|sorted",
    ),
    "agreement: response": (Kind.AGREEMENT, 1, lambda data: swap_ends(data, psi.Response), "were found|same records"),
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
    real = PsiClient.intersection

    def wrong(self, setup, response):
        rows = real(self, setup, response)
        mine = self._ids == (BANK if who == "active" else SHOP)
        other = next(row for row in range(len(self._ids)) if row not in rows)
        return [other, *rows[1:]] if mine else rows

    monkeypatch.setattr(PsiClient, "intersection", wrong)
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


# The command.


def run(*arguments):
    app = typer.Typer()
    app.command()(align_command)
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


BANK_CSV = (
    b'\xef\xbb\xbfcustomer_id,note,x\r\n007,"a, ""b""\r\nsecond line",1.50\r\n\r\n7,plain,1e3\r\n"42",  kept ,\xc3\xa9'
)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "bank.csv").write_bytes(BANK_CSV)
    numbers = pa.table(
        {
            "key": pa.array([42, 5, 7], pa.int32()),
            "day": pa.array([None, 1, 2], pa.date32()),
            "list": [[1.5], [], [2.0, None]],
        }
    )
    arrow_parquet.write_table(numbers, tmp_path / "shop.parquet")
    return tmp_path


def arguments(folder, *more):
    parties = "-p", f"bank={folder / 'bank.csv'}", "-p", f"shop={folder / 'shop.parquet'}"
    return *parties, "--active", "bank", "--id", "customer_id", "--id", "shop:key", "--out", folder / "out", *more


def test_command_writes_own_rows_in_common_order(files):
    result = run(*arguments(files))
    assert result.exit_code == 0, result.output
    assert "2 common records" in result.output
    assert (files / "out" / "bank.csv").read_bytes() == (
        b'\xef\xbb\xbfcustomer_id,note,x\r\n"42",  kept ,\xc3\xa9\r\n7,plain,1e3\r\n'
    )
    before, after = (arrow_parquet.read_table(files / p) for p in ("shop.parquet", "out/shop.parquet"))
    assert after.schema == before.schema
    assert after.to_pylist() == [before.to_pylist()[0], before.to_pylist()[2]]
    assert sorted(p.name for p in (files / "out").iterdir()) == ["bank.csv", "shop.parquet"]


def test_cells_with_quotes_and_newlines_stay_whole(tmp_path):
    (tmp_path / "bank.csv").write_bytes(BANK_CSV)
    (tmp_path / "shop.tsv").write_bytes(b"customer_id\tz\n42\t,\n007\t1\n")
    parties = "-p", f"bank={tmp_path / 'bank.csv'}", "-p", f"shop={tmp_path / 'shop.tsv'}"
    result = run(*parties, "--active", "shop", "--id", "customer_id", "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "bank.csv").read_bytes() == (
        b'\xef\xbb\xbfcustomer_id,note,x\r\n007,"a, ""b""\r\nsecond line",1.50\r\n"42",  kept ,\xc3\xa9\r\n'
    )
    assert (tmp_path / "out" / "shop.tsv").read_bytes() == b"customer_id\tz\n007\t1\n42\t,\n"


def test_command_json(files):
    told = json.loads(run(*arguments(files, "--json")).output)
    assert told["common"] == 2
    assert told["active"] == "bank"
    assert told["seconds"] > 0
    assert {name: party["records"] for name, party in told["parties"].items()} == {"bank": 3, "shop": 3}
    assert told["parties"]["bank"]["bytes_sent"] == told["parties"]["shop"]["bytes_received"] > 300
    assert told["parties"]["shop"]["out"] == str(files / "out" / "shop.parquet")


def test_existing_files_are_refused_before_the_work(files):
    assert run(*arguments(files)).exit_code == 0
    (files / "bank.csv").unlink()
    assert "bank.csv exists already; use --force" in str(run(*arguments(files)).exception)
    assert "bank.csv: no such file" in str(run(*arguments(files, "--force")).exception)


def test_existing_files_are_safe_without_force(files):
    (files / "out").mkdir()
    (files / "out" / "shop.parquet").write_text("precious")
    result = run(*arguments(files))
    assert isinstance(result.exception, privee.PriveeError)
    assert "shop.parquet exists already; use --force" in str(result.exception)
    assert [p.read_text() for p in (files / "out").iterdir()] == ["precious"]
    assert run(*arguments(files, "--force")).exit_code == 0
    assert arrow_parquet.read_table(files / "out" / "shop.parquet").num_rows == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()), pa.uint64()])
def test_parquet_id_types(files, kind):
    number = pa.types.is_integer(kind)
    ids = [2**64 - 1, 42, 7] if number else ["x", "42", "007"]
    arrow_parquet.write_table(pa.table({"key": pa.array(ids, kind)}), files / "shop.parquet")
    assert run(*arguments(files)).exit_code == 0
    assert arrow_parquet.read_table(files / "out" / "shop.parquet")["key"].to_pylist() == (
        [42, 7] if number else ["007", "42"]
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("bank.csv", b"customer_id,x\n7,1\n7,2\n", "party bank has 1 duplicate id; first at data rows 1 and 2"),
        ("bank.csv", b"customer_id,x\n7,1\n,2\n", "party bank has 1 missing id; first at data row 2"),
        ("bank.csv", b"customer_id,x\n7,1\n8\n", "bank.csv: data row 2 has 1 cells where the header has 2"),
        ("bank.csv", b"id,x\n7,1\n", "bank.csv: no column is called 'customer_id'; the columns are id, x"),
        ("bank.csv", b"customer_id,customer_id\n7,1\n", "the column name 'customer_id' appears twice"),
        ("bank.csv", b"", "no column is called 'customer_id'; the columns are none"),
        ("bank.csv", b"customer_id,x\n", "party bank has no ids"),
        ("bank.csv", b'customer_id,x\n7,1\n8,"open\n', "bank.csv: line 3 cannot be read as CSV"),
        ("bank.csv", b"customer_id,x\n7,1\n8,\xff\n", "bank.csv: line 3 is not UTF-8 text"),
        ("bank.csv", b"customer_id,x\n9999,1\n", "parties bank and shop have no common ids"),
        ("shop.parquet", b"not parquet", "shop.parquet: this is not a readable Parquet file"),
        ("shop.parquet", pa.table({"key": [1.0]}), "column 'key' holds double; ids must be text or whole numbers"),
        ("shop.parquet", pa.table({"key": [1, None]}), "party shop has 1 missing id; first at data row 2"),
        ("shop.parquet", pa.table({"other": [1]}), "no column is called 'key'"),
    ],
)
def test_bad_files_leave_nothing(files, name, content, message):
    if isinstance(content, bytes):
        (files / name).write_bytes(content)
    else:
        arrow_parquet.write_table(content, files / name)
    result = run(*arguments(files))
    assert isinstance(result.exception, privee.PriveeError)
    assert message in str(result.exception)
    assert "9999" not in str(result.exception)
    assert not (files / "out").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["-p", "x"], "--party takes NAME=FILE"),
        (["-p", "bank=y.csv"], "party bank is given twice"),
        (["-p", "a/b=y.csv"], "a party's name becomes a file name"),
        (["-p", "z=y.csv"], "y.csv: no such file"),
        (["-p", "z=y.npy"], "y.npy: cannot tell the format"),
        (["--id", "other"], "more than one column for all parties"),
        (["--active", "nobody"], "no party is called 'nobody'; there are bank, shop"),
        (["--delimiter", ";;"], "the delimiter must be one character"),
        (["--out", __file__], "is a file; give a folder"),
    ],
)
def test_bad_arguments(files, change, message):
    result = run(*arguments(files, *change))
    assert isinstance(result.exception, privee.PriveeError)
    assert message in str(result.exception)
    assert not (files / "out").exists()


def test_an_id_column_is_needed_for_every_party(files):
    parties = "-p", f"bank={files / 'bank.csv'}", "-p", f"shop={files / 'shop.parquet'}"
    result = run(*parties, "--active", "bank", "--id", "shop:key", "--out", files / "out")
    assert "which column holds the ids of bank? Give --id COLUMN or --id PARTY:COLUMN" in str(result.exception)


def test_help_has_an_example_and_says_what_it_is_for():
    words = " ".join(run("--help").output.split())
    assert "Example: `privee align" in words or "Example: privee align" in words
    assert "across organisations" in words


def test_neither_privee_nor_the_command_loads_the_psi_library_or_arrow():
    code = "import sys, privee, privee.cli.align; print({'private_set_intersection', 'pyarrow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert done.stdout.strip() == "set()"

"""A sealed party's server: one code per record, whatever happens to the record, the process or the model."""

import numpy as np
import pytest

from privee.gateway.channel.party_channel import PartyChannel
from privee.party.errors import PartyError
from privee.party.party_model import PartyModel
from privee.party.stores import Source, open_store
from privee.pki.identity import TlsFiles
from privee.vfl.run_format import PartyDescription
from privee.vfl.seal import Seal
from privee.vfl.seal.records import read_codes
from tests._support.commands import run as command
from tests._support.party_world import person, using
from tests._support.sealed_world import FOUR, ServedParty, own_ledger, shops_world

NEW = [f"neu-{k}" for k in range(12)]


@pytest.fixture(scope="module", params=[FOUR, Seal(codes=4, epsilon=1.0, learn="own")], ids=["plain", "noisy"])
def shops(request, tmp_path_factory):
    return shops_world(tmp_path_factory.mktemp("shops"), request.param)


def asked(world, party: ServedParty, entities: list[str]) -> list[float]:
    channel = PartyChannel({"shop": party.address}, TlsFiles.from_folder(world.certs / "coordinator"))
    return using(channel, lambda channel: channel.embeddings(entities))["shop"][:, 0].tolist()


def would_choose(world, source: Source, entities: list[str]) -> list[int]:
    """By the encoder and the party's own draws, if nothing had been sent yet."""
    folder = world.run / "parties" / "shop"
    about = PartyDescription.read(folder)
    model = PartyModel.load(folder, about)
    model._sent = {}
    return model.codes(open_store(folder, about, source).find(entities).columns, entities).tolist()


def table(world, path, rows: dict[str, tuple[int, str]]) -> str:
    """The shop's table, with some rows replaced or added."""
    lines = (world.folder / "shop.csv").read_text().splitlines()
    kept = [line for line in lines if line.split(",")[0] not in rows]
    path.write_text("\n".join([*kept, *(f"{one},{visits},{city}" for one, (visits, city) in rows.items())]) + "\n")
    return str(path)


def test_a_changed_record_keeps_the_code_that_was_sent(shops, tmp_path):
    ids, codes = read_codes(shops.run / "parties" / "shop")
    changed = Source(table(shops, tmp_path / "shop.csv", dict.fromkeys(ids, (8, "süd"))))
    assert would_choose(shops, changed, ids) != codes.tolist()
    with ServedParty(shops, "shop", own_ledger(tmp_path), source=changed) as party:
        assert asked(shops, party, ids) == codes.tolist()


def test_a_record_that_is_new_is_drawn_once_and_for_ever(shops, tmp_path):
    """Also after a restart with other columns, by which it would have another code."""
    (tmp_path / "aligned.csv").write_text("customer\n" + "\n".join([person(1), *NEW]) + "\n")
    rows = {one: (k % 9, ("north", "süd")[k % 2]) for k, one in enumerate(NEW)}
    late = {one: (8 - visits, "süd" if city == "north" else "north") for one, (visits, city) in rows.items()}
    first, second = (
        Source(table(shops, tmp_path / f"{name}.csv", given), aligned=str(tmp_path / "aligned.csv"))
        for name, given in (("first", rows), ("second", late))
    )
    ledger, drawn = own_ledger(tmp_path), would_choose(shops, first, NEW)
    assert drawn != would_choose(shops, second, NEW)
    with ServedParty(shops, "shop", ledger, source=first) as party:
        assert asked(shops, party, NEW[:6]) == drawn[:6]
        assert asked(shops, party, NEW) == drawn
    with ServedParty(shops, "shop", ledger, source=second) as party:
        assert asked(shops, party, NEW[::-1]) == drawn[::-1]
        with pytest.raises(PartyError, match="does not know it"):
            asked(shops, party, [person(2)])  # not among those that all parties hold now
    with ledger.existing(tmp_path) as held:
        assert {held.spent(one).as_dict()["bits"] for one in NEW} == {2.0}


def test_it_takes_no_columns_from_outside(shops, tmp_path):
    """Else whoever asks could try records until the code fits."""

    async def work(channel):
        return await channel.embeddings([person(1)], np.zeros((1, features), dtype=np.float32))

    features = PartyDescription.read(shops.run / "parties" / "shop").features
    source = Source(str(shops.folder / "shop.csv"))
    with ServedParty(shops, "shop", own_ledger(tmp_path), source=source) as party:
        channel = PartyChannel({"shop": party.address}, TlsFiles.from_folder(shops.certs / "coordinator"))
        with pytest.raises(PartyError, match="does not take these columns"):
            using(channel, work)


def test_limits_that_allow_no_code_are_refused_at_the_start(shops, tmp_path):
    place = ("party", "serve", shops.run / "parties" / "shop", "--data", shops.folder / "shop.csv")
    for limit, words in (
        (("--bits", "1.9"), "do not allow a single code"),
        (("--releases", "5"), "give --bits or --epsilon"),
    ):
        files = ("--ledger", tmp_path / "own.db", "--ready-file", tmp_path / "ready")
        code, _, err = command(*place, *limit, *files, cwd=tmp_path)
        assert (code, words in err) == (2, True), err
        assert not list(tmp_path.iterdir())

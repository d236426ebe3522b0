"""Specs, who gets which, what is refused, and that a run says what it was trained with."""

import json

import numpy as np
import pytest
import torch

from privee.errors import PriveeError, SettingError
from privee.vfl.embedding_defenses import (
    embedding_defense,
    known_embedding_defenses,
    parse_embedding_defenses,
)
from privee.vfl.embedding_defenses.base import Place
from privee.vfl.embedding_defenses.given import check_combination, split_seals
from privee.vfl.embedding_defenses.registry import saved_embedding_defense
from privee.vfl.joint_model import make_models
from privee.vfl.run_format import embedding_defenses_of, run_config
from privee.vfl.seal import parse_seal

TRAINED = [name for name, cls in known_embedding_defenses().items() if cls().seal is None]


def test_these_are_there():
    assert list(known_embedding_defenses()) == ["mid", "dcor", "dropout", "adversarial", "hashvfl"]


@pytest.mark.parametrize("name", list(known_embedding_defenses()))
def test_each_comes_back_from_its_spec_and_from_json(name):
    one = embedding_defense(name)
    assert embedding_defense(one.spec) == one
    assert embedding_defense(**json.loads(json.dumps(one.settings()))) == one
    assert one.summary
    assert one.published
    assert one.guarantee().proven == "none"
    assert one.guarantee().not_covered
    assert one.told()["embedding_defense"] == one.spec


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("dcor", "try weight=1"),
        ("dcor:weight=0.1", "nothing may come of it"),
        ("dcor:weight=1", ""),
        ("dropout", "whole embeddings are sent"),
        ("mid", ""),
    ],
)
def test_settings_of_which_nothing_came_are_said_at_once(spec, words):
    found = embedding_defense(spec).told()["caution"]
    assert words in found
    assert bool(found) == bool(words)


@pytest.mark.parametrize(
    ("rows", "two"),
    [
        ([[0], [1], [1]], True),
        ([[0, 1], [1, 0], [0, 1]], True),  # a category of two values
        ([[1], [1]], True),
        ([[0], [0.5], [1]], False),
        ([[0, 0], [0, 1], [1, 0]], False),
    ],
)
def test_dcor_says_where_it_can_do_nothing(rows, two):
    columns = np.array(rows, dtype=np.float32)
    assert ("no more than two different rows" in embedding_defense("dcor:weight=1").told(columns)["caution"]) == two
    assert embedding_defense("mid").told(columns)["caution"] == ""
    assert "try weight=1" in embedding_defense("dcor").told(np.arange(3.0)[:, None])["caution"]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("mid:weight=0", "weight must be a number above 0"),
        ("mid:weight=true", "weight must be a number above 0"),
        ("dcor:weight=much", "weight must be a number above 0"),
        ("adversarial:weight=-1", "weight must be a number above 0"),
        ("dropout:rate=1", "rate must be above 0 and below 1"),
        ("dropout:rate=0", "rate must be above 0 and below 1"),
        ("hashvfl:signs=9", "signs of a seal"),
        ("mid:lambda=1", "mid has no setting lambda"),
        ("seal", "no embedding defense is called 'seal'"),
    ],
)
def test_what_makes_no_sense_is_one_line(spec, words):
    with pytest.raises(SettingError, match=words) as told:
        embedding_defense(spec)
    assert "\n" not in str(told.value)


def test_one_for_all_and_others_for_one():
    found = parse_embedding_defenses(["clinic:dropout:rate=0.25", "mid:weight=0.1"], ["shop", "clinic"])
    assert {party: one.spec for party, one in found.items()} == {
        "shop": "mid:weight=0.1",
        "clinic": "dropout:rate=0.25",
    }
    assert parse_embedding_defenses(["shop:mid"], ["shop", "clinic"]).keys() == {"shop"}
    assert parse_embedding_defenses([], ["shop"]) == {}


def test_a_party_may_have_the_name_of_a_defense():
    assert {k: v.spec for k, v in parse_embedding_defenses(["mid:dropout"], ["mid", "shop"]).items()} == {
        "mid": "dropout"
    }
    assert list(parse_embedding_defenses(["mid:weight=1"], ["mid", "shop"])) == ["mid", "shop"]


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["bank:mid"], "names 'bank'; the passive parties are shop, clinic"),
        (["mid", "dcor"], "twice for all parties"),
        (["shop:mid", "shop:dcor"], "twice for shop"),
        (["shop:codes=8"], "no embedding defense is called 'shop'"),
    ],
)
def test_what_is_given_wrongly_is_one_line(texts, words):
    with pytest.raises(SettingError, match=words):
        parse_embedding_defenses(texts, ["shop", "clinic"])


def test_hashvfl_is_the_seal_of_signs_and_nothing_else():
    seals, defenses = split_seals({}, parse_embedding_defenses(["hashvfl:signs=3", "shop:dcor"], ["shop", "clinic"]))
    assert {name: seal.spec for name, seal in seals.items()} == {"clinic": "signs=3"}
    assert list(defenses) == ["shop"]
    with pytest.raises(PriveeError, match="is the seal signs=3"):
        embedding_defense("hashvfl:signs=3").around(torch.nn.Linear(2, 2), Place("shop", 2, 2))


def test_no_seal_beside_an_embedding_defense():
    sealed, parties = {"clinic": parse_seal("codes=4")}, ["bank", "shop", "clinic"]
    with pytest.raises(SettingError, match="seals or embedding defenses, not both"):
        split_seals(sealed, {"shop": embedding_defense("hashvfl")})
    with pytest.raises(SettingError, match="seals or embedding defenses, not both"):
        check_combination({"shop": embedding_defense("mid")}, sealed, parties)


def test_only_passive_parties():
    for name in ("bank", "nobody"):
        with pytest.raises(SettingError, match="only a passive party"):
            make_models("mlp", {"bank": (3,), "shop": (2,)}, 2, 0, defenses={name: embedding_defense("mid")})


@pytest.mark.parametrize("spec", TRAINED)
def test_a_run_says_it_and_one_without_says_nothing(spec):
    about = {"model": "mlp", "parties": ("a", "b"), "classes": ("x", "y"), "rows": (3, 2), "data": {}, "training": {}}
    one = embedding_defense(spec)
    config = json.loads(json.dumps(run_config(**about, embedding_defenses={"b": one})))
    assert embedding_defenses_of(config) == {"b": one}
    assert "embedding_defenses" not in run_config(**about)
    assert embedding_defenses_of(run_config(**about)) == {}


@pytest.mark.parametrize("saved", [{"name": "later"}, {"name": "mid", "weight": "x"}, {"weight": 1.0}])
def test_a_run_of_a_later_privee_is_refused(saved):
    with pytest.raises(PriveeError, match="not the settings of an embedding defense"):
        saved_embedding_defense(saved)


@pytest.mark.parametrize("spec", TRAINED)
def test_the_bottom_begins_with_the_weights_it_would_have_had(spec):
    shapes = {"bank": (5,), "shop": (4,)}
    plain, top = make_models("mlp", shapes, 3, 7)
    defended, same = make_models("mlp", shapes, 3, 7, defenses={"shop": embedding_defense(spec)})
    for name, value in plain["shop"].state_dict().items():
        assert torch.equal(value, defended["shop"].bottom.state_dict()[name])
    assert all(torch.equal(value, same.state_dict()[name]) for name, value in top.state_dict().items())

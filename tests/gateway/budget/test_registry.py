"""Policies are found by themselves, refuse what is taken, and are named nowhere else."""

import dataclasses
import inspect
from pathlib import Path

import pytest

import privee
from privee import OrderedDP, PriveeU
from privee.errors import PriveeError
from privee.gateway.budget.base import (
    POLICIES,
    Option,
    budget_options,
    known_policies,
    options_of,
    register,
    wanted_policies,
)
from privee.gateway.budget.corollary import Corollary
from privee.gateway.budget.price import UNIT
from privee.gateway.budget.releases import Releases
from privee.gateway.budget.total_epsilon_advanced import TotalEpsilonAdvanced
from privee.gateway.budget.total_epsilon_basic import TotalEpsilonBasic
from privee.gateway.settings import GatewaySettings

SOURCE = Path(privee.__file__).parent


def test_every_policy_of_the_folder_is_found_in_its_place():
    assert known_policies() == [Releases, Corollary, TotalEpsilonBasic, TotalEpsilonAdvanced]
    assert [option.name for option in budget_options()] == ["releases", "within", "probability", "epsilon", "delta"]


def test_every_option_is_a_setting_of_the_gateway():
    usual = {"run": Path("r"), "parties": {}, "defense": PriveeU(rho=0.1), "ledger_url": "", "ledger_key": Path("k")}
    assert GatewaySettings(**usual).budget == {option.name: option.default for option in budget_options()}
    for option in budget_options():
        changed = GatewaySettings(**usual, **{option.name: 1})
        assert getattr(changed, option.name) == changed.budget[option.name] == 1


def taking(**attributes):
    """A policy like the one on releases, with other words about itself."""
    return dataclasses.dataclass(frozen=True)(type("Taking", (Releases,), attributes))


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({}, "a budget policy called 'releases' exists already: privee.gateway.budget.releases.Releases"),
        ({"name": "other", "counter": "tokens"}, "other counts 'tokens'; the ledger stores releases, "),
    ],
)
def test_what_is_taken_or_not_stored_is_refused(attributes, words):
    before = POLICIES.known()
    with pytest.raises(PriveeError, match=words):
        register(taking(**attributes))
    assert POLICIES.known() == before
    assert register(Releases) is Releases  # the same one again is no duplicate


@pytest.mark.parametrize("name", ["releases", "delta"])
def test_an_option_that_two_have_is_refused(name):
    other = taking(name="other", options=(Option(name, float, ""),))
    with pytest.raises(PriveeError, match=f"and other both have an option '{name}'"):
        options_of([*known_policies(), other])


def test_of_several_on_one_quantity_the_lowest_limit_holds():
    both = {"within": 0.001, "releases": 30}
    assert wanted_policies(both, PriveeU(rho=0.1), 10) == (Corollary(29, 0.001, 0.5),)
    assert wanted_policies(both | {"releases": 29}, PriveeU(rho=0.1), 10) == (Releases(29),)
    assert wanted_policies({"releases": 3, "epsilon": 1}, OrderedDP(0.5), 10) == (Releases(3), TotalEpsilonBasic(UNIT))
    assert wanted_policies({}, PriveeU(rho=0.1), 10) == ()
    with pytest.raises(PriveeError, match="no budget policy has an option 'release'; there are releases, within"):
        wanted_policies({"release": 3}, PriveeU(rho=0.1), 10)


def test_no_other_source_file_names_a_policy():
    folder = Path(inspect.getfile(Releases)).parent
    others = [file for file in SOURCE.rglob("*.py") if folder not in file.parents]
    assert len(others) > 100
    for cls in known_policies():
        words = (cls.__module__, cls.__name__ + "(")
        named = [file.name for file in others if any(word in file.read_text(encoding="utf-8") for word in words)]
        assert named == []

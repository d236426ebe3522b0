"""What the served model is worth: for those who look at the dashboard, and for programs."""

import dataclasses
import json
import shutil

import pytest

import privee
from privee.gateway.coordinator_model import load_coordinator_model
from privee.gateway.demo import World
from privee.vfl.worth import read_worth
from tests._support.local_gateway import text_of, visitor

NASTY = "<b>bank"


def test_the_page_and_the_metadata_show_what_was_measured(local, folder):
    worth = read_worth(World(folder).run)
    key = local.key()
    with visitor(local.url, key) as client:
        shown = text_of(client.get("/ui").text)
        about = client.get(f"/v2/models/{local.service.model.name}", headers={"authorization": f"Bearer {key}"}).json()
    told = json.loads(about["parameters"]["utility"])
    assert told["utility"] == {"accuracy": worth.utility.accuracy, "auc": worth.utility.auc}
    assert told["own_columns"] == {"accuracy": worth.own_columns.accuracy, "auc": worth.own_columns.auc}
    assert told["majority"]["auc"] == 0.5
    assert f"on {worth.utility.rows} test records, with its scores" in shown
    for name, one in (
        ("Joint model", worth.utility),
        ("active's own columns alone", worth.own_columns),
        ("Most frequent class", worth.majority),
    ):
        values = [value for figure, value in one.as_dict().items() if figure not in {"rows", "model", "trained_on"}]
        assert f"{name} {' '.join(f'{value:.3f}' for value in values)}" in shown
    assert "means over the classes" in shown
    assert ("adds nothing" in shown) == worth.adds_nothing


def test_names_are_escaped_and_a_model_that_adds_nothing_is_called_so(local):
    model = local.service.model
    changed = dataclasses.replace(model.worth.own_columns, auc=1.0, brier=None)
    worth = dataclasses.replace(model.worth, active=NASTY, positive_class=NASTY, own_columns=changed)
    local.service.model = dataclasses.replace(model, worth=worth)
    with visitor(local.url, local.key()) as client:
        page = client.get("/ui").text
    assert NASTY not in page
    assert f"The joint model adds nothing to {NASTY}'s own columns." in text_of(page)
    assert f"those of class {NASTY}." in text_of(page)
    assert "1.000" in page
    assert "-</td>" in page


def test_a_run_without_it_is_served_without_it(local, folder, tmp_path):
    run = shutil.copytree(World(folder).run, tmp_path / "run")
    assert load_coordinator_model(run).worth == read_worth(run)
    (run / "utility.json").write_text((run / "utility.json").read_text().replace('"auc": 0', '"auc": 1'))
    with pytest.raises(privee.PriveeError, match=r"utility.json is damaged: its checksum"):
        load_coordinator_model(run)
    (run / "utility.json").unlink()
    local.service.model = load_coordinator_model(run)
    assert local.service.model.worth is None
    assert "utility" not in local.service.about()
    with visitor(local.url, local.key()) as client:
        assert "worth" not in text_of(client.get("/ui").text)

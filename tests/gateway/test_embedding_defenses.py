"""A model with embedding defenses behind the gateway: the trained model's scores, noise and all, as often as asked."""

import json

import numpy as np
import pytest

from privee.gateway.demo import MODEL
from privee.vfl.embedding_defenses import embedding_defense
from tests._support.local_gateway import text_of, visitor
from tests._support.sealed_world import PASSIVE, asking, digits_world, expected_scores

IDS = [str(number) for number in range(40)]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    defenses = {PASSIVE: embedding_defense("mid:weight=0.01"), "passive-2": embedding_defense("dropout")}
    return digits_world(tmp_path_factory.mktemp("noisy"), {}, parties=3, defenses=defenses)


def test_its_answers_are_the_trained_models_scores_and_the_same_again(world, tmp_path):
    expected = expected_scores(world)
    with asking(world, tmp_path) as asked:
        together = asked.scores(*IDS)
        assert np.allclose(together, expected[:40], atol=1e-5, rtol=0)
        assert (asked.scores(*IDS) == together).all()
        assert (asked.scores("7") == together[7]).all()  # in other company: all bits alike
        # The noise is a record's own, not the question's: averaging answers takes nothing off.
        model = asked.parties[PASSIVE]._handler._model
        columns = np.zeros((1, *model._shape), dtype=np.float32)
        assert np.abs(model.embed(columns, ["7"]) - model.embed(columns, ["8"])).max() > 0.01


def test_the_page_and_the_model_say_what_it_has(world, tmp_path):
    with asking(world, tmp_path) as asked:
        parameters = asked.client.get(f"/v2/models/{MODEL}").json()["parameters"]
        with visitor(asked.gateway.url, asked.gateway.key()) as seen:
            page = text_of(seen.get("/ui").text)
    assert json.loads(parameters["embedding_defenses"]) == {PASSIVE: "mid:weight=0.01", "passive-2": "dropout"}
    assert "mid:weight=0.01 : nothing is proven about it" in page.replace("mid:weight=0.01:", "mid:weight=0.01 :")
    assert "sealed" not in parameters

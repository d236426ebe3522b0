"""Defenses as an NVFlare result filter: scores do not leave a site, releases do."""

import json

import numpy as np
import pytest
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.filter import ContentBlockedException
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.fl_context import FLContext
from nvflare.apis.shareable import make_reply
from nvflare.fuel.utils.component_builder import ComponentBuilder

from privee.federation.result_filter import ReleaseFilter
from tests._support.scores import softmax_rows


def filtered(filter_: ReleaseFilter, data: dict, meta: dict | None = None):
    shareable = DXO(DataKind.COLLECTION, data=data, meta=meta or {}).to_shareable()
    return from_shareable(filter_.process(shareable, FLContext()))


@pytest.mark.parametrize("spec", ["privee-u:rho=0.1", "ordered-dp:epsilon=4", "label-only"])
def test_releases_leave_in_place_of_scores(spec):
    scores = softmax_rows(20, 5)
    kept = scores.copy()
    found = filtered(ReleaseFilter(spec), {"scores": scores, "features": np.ones(3)}, {"note": "secret"})
    assert set(found.data) == {"scores"}  # nothing unprotected goes along
    assert "secret" not in str(found.meta)
    release = found.data["scores"]
    assert release.shape == scores.shape
    assert np.array_equal(release.argmax(axis=1), scores.argmax(axis=1))
    assert not np.isin(release, scores).any()
    assert np.array_equal(scores, kept)


def test_other_data_may_stay_if_asked_for():
    found = filtered(ReleaseFilter("rounding:digits=1", ["p"], only=False), {"p": softmax_rows(2, 3), "count": 7})
    assert found.data["count"] == 7


@pytest.mark.parametrize(
    "data", [{"other": softmax_rows(2, 3)}, {"scores": np.full((2, 3), np.nan)}, {"scores": "text"}, {}]
)
def test_what_cannot_be_protected_is_not_sent(data):
    with pytest.raises(ContentBlockedException, match="nothing is sent"):
        filtered(ReleaseFilter("privee-u:rho=0.1"), data)


def test_a_result_that_is_no_collection_of_scores_is_not_sent():
    with pytest.raises(ContentBlockedException):
        ReleaseFilter("privee-u:rho=0.1").process(make_reply(ReturnCode.OK), FLContext())


def test_failures_pass_unchanged():
    reply = make_reply(ReturnCode.EXECUTION_EXCEPTION)
    assert ReleaseFilter("privee-u:rho=0.1").process(reply, FLContext()) is reply


def test_nvflare_builds_it_from_a_jobs_config():
    class Builder(ComponentBuilder):
        def get_module_scanner(self):
            return None

    text = '{"path": "privee.federation.result_filter.ReleaseFilter", "args": {"defense": "top-k:k=2", "keys": ["p"]}}'
    made = Builder().build_component(json.loads(text))
    assert isinstance(made, ReleaseFilter)
    assert set(filtered(made, {"p": softmax_rows(3, 4)}).data) == {"p"}

"""What a request may say, and what a gateway's settings may: without a server."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import privee
from privee.errors import PriveeError, SettingError
from privee.gateway.http.protocol import InferRequest, read_query
from privee.gateway.settings import GatewaySettings


def query(tensors, **options):
    return read_query(InferRequest.model_validate({"inputs": tensors}), **{"max_entities": 10} | options)


def test_entities_in_all_forms_the_protocol_allows():
    flat = {"name": "entities", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]}
    nested = flat | {"shape": [2, 1], "data": [["a"], ["b"]]}
    assert list(query([flat]).entities) == list(query([nested]).entities) == ["a", "b"]
    assert list(query([flat | {"datatype": "INT64", "data": [7, -1]}]).entities) == ["7", "-1"]


@pytest.mark.parametrize(
    "change",
    [
        {"shape": [3]},
        {"shape": [2, 2]},
        {"data": ["a", ""]},
        {"data": ["a", 1]},
        {"data": ["a", "\ud800"]},
        {"data": ["a", "x" * 257]},
        {"data": ["a", None]},
        {"data": ["a"], "shape": [1], "datatype": "FP32"},
        {"datatype": "INT64", "data": [1, 1 << 63]},
        {"datatype": "INT64", "data": [1, True]},
        {"shape": [0], "data": []},
        {"shape": [11], "data": ["a"] * 11},
    ],
)
def test_wrong_entities_are_named_by_position(change):
    with pytest.raises(PriveeError):
        query([{"name": "entities", "shape": [2], "datatype": "BYTES", "data": ["a", "b"]} | change])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
)


@given(
    data=st.lists(json_values, max_size=6),
    shape=st.lists(st.integers(-2, 7), max_size=3),
    kind=st.sampled_from(["BYTES", "INT64", "FP32", "FP64"]),
    columns=st.lists(json_values, max_size=6),
)
def test_any_request_is_a_query_or_one_clear_error(data, shape, kind, columns):
    tensors = [{"name": "entities", "shape": shape, "datatype": kind, "data": data}]
    if columns:
        tensors.append({"name": "columns", "shape": [len(data), 1], "datatype": "FP64", "data": columns})
    try:
        found = query(tensors)
    except (PriveeError, ValidationError):
        return
    assert 1 <= len(found.entities) <= 10
    assert all(isinstance(entity, str) and entity for entity in found.entities)
    if found.columns is not None:
        assert np.isfinite(found.columns).all()
        assert len(found.columns) == len(found.entities)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"host": "0.0.0.0"}, "not a loopback address"),  # noqa: S104
        ({"host": "::"}, "not a loopback address"),
        ({"tls": True}, "needs --certs"),
        ({"deadline": 0}, "deadline"),
        ({"max_body": 10}, "1024 bytes"),
    ],
)
def test_unsafe_settings_are_refused(tmp_path, change, words):
    settings = {
        "run": tmp_path,
        "parties": {},
        "defense": privee.PriveeU(rho=0.1),
        "ledger_url": "sqlite:///x.db",
        "ledger_key": tmp_path / "key",
    }
    with pytest.raises(SettingError, match=words):
        GatewaySettings(**settings | change)

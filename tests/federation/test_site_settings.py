"""Settings of a site and of a kit."""

import dataclasses

import pytest
from benchmarks._shared.federation_jobs import digits_job

from privee.atomic import write_json
from privee.errors import PriveeError
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError
from privee.federation.kits.policy import GUARD
from privee.federation.kits.start_kit import serve_kit
from privee.federation.settings import SiteSettings
from privee.federation.site import executor
from privee.federation.site.own_columns import own_table
from tests._support.federation import (
    SESSION,
    line_to,
)


def test_names_that_could_leave_a_folder_are_refused():
    for run in ("../evil", "a/b", "", ".hidden", "a b"):
        with pytest.raises(PriveeError, match="names of runs"):
            dataclasses.replace(digits_job("logistic", 2), run=run)


def test_site_settings_stay_readable(tmp_path):
    own = SiteSettings(folder=tmp_path / "parts", data=tmp_path / "t.csv", id_column="id", label="y")
    own.write(tmp_path, "bank")
    assert SiteSettings.read(tmp_path, "bank", tmp_path) == own
    assert SiteSettings.read(tmp_path, "shop", tmp_path / "x") == SiteSettings(folder=tmp_path / "x")
    (tmp_path / "privee-shop.json").write_text('{"password": "x"}')
    with pytest.raises(PriveeError, match="may only say"):
        SiteSettings.read(tmp_path, "shop", tmp_path)
    (tmp_path / "privee-shop.json").write_text('{"data": 5}')
    with pytest.raises(PriveeError, match="strings and nulls"):
        SiteSettings.read(tmp_path, "shop", tmp_path)


@pytest.mark.parametrize("broken", ["{", '{"password": "x"}', '{"data": 5}'])
def test_a_site_with_broken_settings_says_so_and_not_where_it_keeps_them(broken, tmp_path):
    job = digits_job("logistic", 2)
    line, loop = line_to(job, tmp_path)
    (tmp_path / "privee-passive-1.json").write_text(broken)
    loop.doors["passive-1"] = executor.door_of("passive-1", tmp_path, tmp_path / "passive-1", SESSION)
    with pytest.raises(SiteError, match=r"site passive-1: its own settings, .* cannot be read") as caught:
        coordinate(job, line, tmp_path / "coordinator")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize("broken", ["{", '{"password": "x"}'])
def test_a_kit_with_broken_settings_does_not_start(broken, tmp_path):
    (tmp_path / "startup").mkdir()
    (tmp_path / "local").mkdir()
    (tmp_path / "startup" / "fed_client.json").write_text('{"client": {"fqsn": "shop"}}')
    (tmp_path / "local" / "privee-shop.json").write_text(broken)
    write_json(tmp_path / "local" / "resources.json", {"components": [GUARD], "class_allow_list": []})
    with pytest.raises(PriveeError, match=r"privee-shop\.json"):
        serve_kit(tmp_path)


def test_a_site_reads_its_table_as_it_comes_and_tells_nobody_its_cells(tmp_path):
    rows = [f"{k};{k},5;{k % 2}" for k in range(40)]
    path = tmp_path / "shop.csv"
    path.write_bytes("\n".join(["id;x;y", *rows]).encode("utf-8-sig"))
    settings = SiteSettings(folder=tmp_path, data=path, id_column="id", label="y")
    assert own_table(settings, active=True).columns["x"].to_pylist() == [k + 0.5 for k in range(40)]
    path.write_text("\n".join(["id;x;y", *rows]).replace(";7,5;", ";SECRET;"))
    with pytest.raises(PriveeError, match="first at data row 8") as caught:
        own_table(settings, active=True)
    assert "SECRET" not in str(caught.value)  # which is what goes to the coordinator

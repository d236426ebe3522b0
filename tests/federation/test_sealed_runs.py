"""A site's codes over several runs: bits and epsilons add up, are kept at the site, and end where it says."""

import dataclasses
import json
import multiprocessing
import shutil

import pytest
from benchmarks._shared.federation_jobs import digits_job, free_port
from typer.testing import CliRunner

from privee.cli.federation import app
from privee.errors import PriveeError, SettingError
from privee.federation.coordinator.job_run import coordinate
from privee.federation.errors import SiteError
from privee.federation.kits.project import Project
from privee.federation.kits.start_kit import own_settings
from privee.federation.lifetime import Lifetime, cost_of
from privee.federation.settings import SiteSettings
from privee.federation.site.sealed_runs import FILE, SealedRuns
from privee.vfl.seal import Seal, parse_seal
from privee.vfl.seal.drawing import KEY, kept_secret
from privee.vfl.seal.records import CODES
from tests._support.federation import line_to, write_tables

SITE = "passive-1"


def train(folder, run, seal="codes=8,epsilon=2", **most) -> None:
    job = dataclasses.replace(digits_job("mlp", 2, epochs=1), run=run)
    job = dataclasses.replace(job, seals={} if seal is None else {SITE: parse_seal(seal)})
    own = SiteSettings(folder=folder / SITE, **{name: repr(value) for name, value in most.items()})
    line, loop = line_to(job, folder, {SITE: own})
    try:
        coordinate(job, line, folder / "coordinator")
    finally:
        train.asked = {site for site, *_ in loop.crossed}


def kept(folder) -> dict:
    return json.loads((folder / SITE / FILE).read_text())["runs"]


@pytest.mark.parametrize("learn", ["joint", "own"])
def test_a_second_run_is_a_second_draw_and_the_site_says_when_it_is_too_many(learn, tmp_path):
    seal = f"codes=8,epsilon=2,learn={learn}"
    train(tmp_path, "one", seal, most_bits=6.0, most_epsilon=5.0)
    train(tmp_path, "two", seal, most_bits=6.0, most_epsilon=5.0)
    assert sorted(one["run"] for one in kept(tmp_path).values()) == ["one", "two"]
    with pytest.raises(SiteError) as caught:
        train(tmp_path, "three", seal, most_bits=6.0, most_epsilon=5.0)
    words = (
        "this site's codes may tell 6 bits of a record in its life; 6 went with 2 sealed runs, and this one would add 3"
    )
    assert str(caught.value) == f"site {SITE}: {words}"
    assert not (tmp_path / SITE / "three").exists()  # no secret, no codes, nothing
    with pytest.raises(SiteError, match="5 of epsilon of a record in its life; 4 went with 2 sealed runs"):
        train(tmp_path, "three", seal, most_bits=60.0, most_epsilon=5.0)
    train(tmp_path, "three", "codes=2,epsilon=1", most_bits=60.0, most_epsilon=5.0)  # what is left is enough for less
    assert len(kept(tmp_path)) == 3


def test_a_code_without_an_epsilon_is_more_than_any(tmp_path):
    with pytest.raises(SiteError, match="this one would add an amount without end"):
        train(tmp_path, "one", "codes=8", most_epsilon=1e6)
    train(tmp_path, "one", "codes=8", most_bits=3.0)


def test_runs_are_counted_before_there_is_a_limit(tmp_path):
    train(tmp_path, "one")
    with pytest.raises(SiteError, match="3 went with 1 sealed runs"):
        train(tmp_path, "two", most_bits=5.0)
    (tmp_path / SITE / FILE).unlink()  # lost, or of a site that ran before there was one: its parts tell
    with pytest.raises(SiteError, match="3 went with 1 sealed runs"):
        train(tmp_path, "two", most_bits=5.0)


def test_the_same_run_again_is_counted_once_and_another_of_its_name_again(tmp_path):
    """It is the secret that makes a second draw, not the name."""
    runs, seal = SealedRuns(tmp_path, Lifetime(bits=3.0)), Seal(codes=8)
    kept_secret(tmp_path / "one")
    for _ in range(3):
        runs.check("one", seal)
        runs.count("one", seal)
    shutil.rmtree(tmp_path / "one")
    with pytest.raises(PriveeError, match="3 went with 1 sealed runs"):
        runs.check("one", seal)
    kept_secret(tmp_path / "one")
    with pytest.raises(PriveeError, match="3 went with 1 sealed runs"):
        runs.count("one", seal)


def test_a_run_that_breaks_off_is_counted_and_goes_on(tmp_path):
    class BrokenOffError(Exception):
        pass

    job = dataclasses.replace(digits_job("mlp", 2, epochs=2), seals={SITE: Seal(codes=8)})
    own = {SITE: SiteSettings(folder=tmp_path / SITE, most_bits="3")}

    def stop(epoch, *_) -> None:
        if epoch == 2:
            raise BrokenOffError

    line, _ = line_to(job, tmp_path, own)
    with pytest.raises(BrokenOffError):
        coordinate(job, line, tmp_path / "coordinator", on_step=stop)
    assert len(kept(tmp_path)) == 1
    line, _ = line_to(job, tmp_path, own)
    coordinate(job, line, tmp_path / "coordinator")
    assert len(kept(tmp_path)) == 1
    assert (tmp_path / SITE / "run" / CODES).is_file()


def test_a_site_with_a_lifetime_takes_part_sealed_alone(tmp_path):
    with pytest.raises(SiteError, match="takes part sealed alone"):
        train(tmp_path, "one", None, most_bits=6.0)
    assert not (tmp_path / SITE).exists()


def _count(folder, run) -> str:
    kept_secret(folder / run)
    try:
        SealedRuns(folder, Lifetime(bits=9.0)).count(run, Seal(codes=8))
    except PriveeError:
        return "refused"
    return "counted"


def test_of_many_runs_at_once_no_more_are_counted_than_fit(tmp_path):
    with multiprocessing.get_context("fork").Pool(8) as pool:
        found = pool.starmap(_count, [(tmp_path, f"run-{k}") for k in range(24)])
    assert (found.count("counted"), found.count("refused")) == (3, 21)
    assert len(json.loads((tmp_path / FILE).read_text())["runs"]) == 3


def test_a_damaged_count_is_not_taken_for_none(tmp_path):
    for text in ("{}", '{"format": 2, "runs": {}}', '{"format": 1, "runs": []}'):
        (tmp_path / FILE).write_text(text)
        with pytest.raises(PriveeError, match=r"sealed-runs\.json at this site is damaged, or of another privee"):
            SealedRuns(tmp_path, Lifetime(bits=9.0)).check("one", Seal())


def test_it_is_for_the_sites_own_eyes_and_tells_no_secret(tmp_path):
    train(tmp_path, "one")
    text = (tmp_path / SITE / FILE).read_text()
    assert (tmp_path / SITE / FILE).stat().st_mode & 0o077 == 0
    assert (tmp_path / SITE / "one" / KEY).read_bytes().hex() not in text


def test_a_code_costs_what_it_costs_in_the_partys_own_ledger():
    from privee.party.ledger.terms import SealTerms

    for codes, epsilon in ((8, None), (6, 1 / 3), (256, 4.0)):
        cost = SealTerms("0" * 64, codes, epsilon).cost()
        assert cost_of(Seal(codes=codes, epsilon=epsilon)) == {"bits": cost.bits, "epsilon": cost.epsilon}


def test_a_site_says_its_lifetime_and_a_new_table_does_not_undo_it(tmp_path):
    def invoked(*words: object) -> None:
        found = CliRunner().invoke(app, [str(word) for word in words])
        if found.exception is not None:
            raise found.exception

    project, table = tmp_path / "project", write_tables(tmp_path, ("bank", "shop"))["shop"]
    invoked("init", project, "--party", "bank", "--party", "shop", "--active", "bank", "--port", free_port())
    kit = Project.open(project).kit("shop")
    given = ("data", kit, "--data", table, "--id", "customer")
    invoked(*given, "--most-bits", 6, "--most-epsilon", 4.5)
    invoked(*given)
    assert own_settings(kit).lifetime == Lifetime(bits=6.0, epsilon=4.5)
    invoked(*given, "--most-bits", 9)
    assert own_settings(kit).lifetime == Lifetime(bits=9.0, epsilon=4.5)
    for wrong in (0, -1, "inf", "nan"):
        with pytest.raises(SettingError, match="must be above 0"):
            invoked(*given, "--most-bits", wrong)
    with pytest.raises(SettingError, match="are numbers"):
        SiteSettings(folder=tmp_path, most_bits="many")

"""`privee protect --ray`: the file that one process would have written, in its order."""

import numpy as np
import pytest
from typer.testing import CliRunner

from privee.cli.app import app
from privee.data.score_files.protect import protect_file
from privee.defenses import defense
from privee.errors import ScoreError


def run(*options):
    return CliRunner().invoke(app, ["protect", *map(str, options)])


def scores_in(file, rows, monkeypatch):
    monkeypatch.setattr("privee.data.score_files.open_files.BYTES_PER_BLOCK", 1 << 10)
    np.save(file, np.random.default_rng(1).dirichlet([1, 1, 1], rows))
    return file


def test_releases_of_others_are_written_in_their_order(tmp_path, monkeypatch):
    """The seam that Ray is behind, with somebody who looks ahead and fails like a worker."""
    source, made = scores_in(tmp_path / "s.npy", 500, monkeypatch), defense("rounding:digits=1")

    def ahead(blocks):
        held = list(blocks)
        assert len(held) > 5
        return ((block, made.release(block.scores)) for block in held)

    here = protect_file(source, tmp_path / "here.npy", made)
    assert protect_file(source, tmp_path / "there.npy", made, releases=ahead) == here
    assert np.array_equal(np.load(tmp_path / "here.npy"), np.load(tmp_path / "there.npy"))


def test_seed_and_ray_do_not_go_together(tmp_path, monkeypatch):
    answer = run(
        scores_in(tmp_path / "s.npy", 5, monkeypatch), "-o", tmp_path / "o.npy", "-d", "none", "--ray", "--seed", 1
    )
    assert answer.exit_code != 0
    assert "--seed is for draws in one process" in str(answer.exception)


@pytest.mark.slow  # a cluster of processes
def test_on_ray(tmp_path, monkeypatch):
    pytest.importorskip("ray")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    source = scores_in(tmp_path / "s.npy", 500, monkeypatch)
    for spec, equal in (("rounding:digits=1", True), ("privee-u:rho=0.1", False)):
        for name, more in (("here", ()), ("ray", ("--ray",))):
            answer = run(source, "-o", tmp_path / f"{name}.npy", "-d", spec, "--force", *more)
            assert answer.exit_code == 0, answer.output
        here, there = (np.load(tmp_path / f"{name}.npy") for name in ("here", "ray"))
        assert np.array_equal(here, there) == equal
        assert (here.argmax(axis=1) == there.argmax(axis=1)).all()
    bad = np.load(source)
    bad[400, 1] = np.nan
    np.save(source, bad)
    answer = run(source, "-o", tmp_path / "bad.npy", "-d", "none", "--ray")
    assert "data row 401" in str(answer.exception)
    assert not (tmp_path / "bad.npy").exists()
    assert not isinstance(answer.exception, ScoreError)

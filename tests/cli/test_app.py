"""The command line as a whole: help, version, arguments that cannot be right, and what is not installed."""

import pytest

import privee
from tests._support.commands import good, start


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["protect", "nope.csv", "-d", "none", "-o", "o.csv"], "nope.csv: no such file"),
        (["protect", "s.csv", "-d", "nope", "-o", "o.csv"], "no defense is called 'nope'"),
        (["protect", "s.csv", "-d", "privee-u:rho=x", "-o", "o.csv"], "rho must be a number above 0"),
        (["protect", "s.csv", "-d", "none"], "Missing option '--out'"),
        (["protect", "s.csv", "-d", "none", "-o", "o.doc"], "cannot tell the format"),
        (["protect", "s.csv", "-d", "none", "-o", "no/o.csv"], "cannot write no/o.csv"),
        (["protect", "s.csv", "-d", "none", "-o", "."], ". is a folder; give a file"),
        (["protect", "s.csv", "-d", "none", "-o", "o.npy"], "would lose their column names"),
        (["protect", "s.csv", "-d", "none", "-o", "o.csv", "--id", "zz"], "no column is called 'zz'"),
        (["protect", "s.csv", "-d", "none", "-o", "o.csv", "--scores", "a"], "b would be lost"),
        (["protect", "s.csv", "-d", "none", "-o", "o.csv", "--scores", "*", "--id", "a"], "named both"),
        (["budget", "--probability", "2"], "probability between 0 and 1"),
        (["budget", "--tolerance", "0.1"], "needs scores"),
        (["budget", "--tolerance", "0.1", "--scores", "a,b"], "numbers separated by commas"),
        (
            ["budget", "--defense", "gaussian:epsilon=0.5", "--within", "0.1"],
            "--within means nothing here: gaussian has",
        ),
        (["budget", "--epsilon", "8"], "--epsilon means nothing here: privee-u has releases without an epsilon"),
        (["budget", "-d", "ordered-dp:epsilon=1", "--epsilon", "0"], "total epsilon must be a number above 0"),
        (["budget", "-d", "gaussian:epsilon=0.5", "--delta", "0.1"], "gaussian has a delta of its own"),
        (["budget", "--classes", "1"], "--classes"),
        (["defenses", "nope"], "no defense is called 'nope'"),
        (["nope"], "No such command"),
    ],
)
def test_bad_arguments_get_one_line(tmp_path, arguments, message, privee):
    (tmp_path / "s.csv").write_text("id,a,b\n1,0.5,0.5\n")
    code, _, err = privee(*arguments)
    assert code == 2
    assert len(err.splitlines()) == 1
    assert message in err
    assert [p.name for p in tmp_path.iterdir()] == ["s.csv"]


@pytest.mark.parametrize(
    "command",
    [
        "protect",
        "budget",
        "defenses",
        "demo",
        "align",
        "train",
        "predict",
        "tune",
        "attack",
        "audit",
        "recommend",
        "quickstart",
    ],
)
def test_help_has_an_example(tmp_path, command, good):
    assert "Example: privee" in good(command, "--help")


def test_version_matches(tmp_path):
    assert good("--version", cwd=tmp_path).strip() == f"privee {privee.__version__}"


def test_a_missing_extra_is_named(tmp_path):
    """A module that shadows torch and fails as a missing one does stands for an installation without it."""
    (tmp_path / "torch.py").write_text("raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n")
    process = start("train", "digits", cwd=tmp_path)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (2, "privee: this command needs torch: pip install 'privee[all]'\n")

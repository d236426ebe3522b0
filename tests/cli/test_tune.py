"""`privee tune`."""

import json

from tests._support.commands import good, run
from tests._support.federation import write_tables


def test_tuning_resumes_and_refuses_other_studies(tmp_path):
    command = ["tune", "digits", "--model", "logistic", "--epochs", "1", "--out", "s.journal", "--json"]
    first = json.loads(good(*command, "--trials", 2, cwd=tmp_path))
    assert first["trials"] == 2
    again = json.loads(good(*command, "--trials", 3, cwd=tmp_path))
    assert again["trials"] == 3
    assert again["loss"] <= first["loss"]
    assert 0 <= again["accuracy"] <= 1
    assert 1e-5 <= again["learning_rate"] <= 1e-1
    assert again["batch_size"] in {32, 64, 128, 256, 512, 1024, 2048}
    code, _, err = run(*command, "--trials", 3, "--seed", 5, cwd=tmp_path)
    assert code == 2
    assert "other data or settings" in err
    (tmp_path / "s.journal").write_text("garbage\n")
    code, _, err = run(*command, "--trials", 3, cwd=tmp_path)
    assert code == 2
    assert "not a readable study file" in err


def test_own_tables_can_be_tuned(tmp_path):
    files = write_tables(tmp_path, ("bank", "shop"))
    tables = [word for name, path in files.items() for word in ("--party", f"{name}={path}")]
    command = ["tune", *tables, "--active", "bank", "--id", "customer", "--label", "digit", "--model", "logistic"]
    said = good(*command, "--epochs", 2, "--trials", 2, cwd=tmp_path)
    assert "best of 2 trials: loss" in said
    assert "--learning-rate" in said
    code, _, err = run(*command, "--epochs", 2, "--trials", 2, "--scaling", "none", cwd=tmp_path)
    assert code == 2
    assert "other data or settings" in err  # the scaling is one of them, and the first study had one
    for wrong in (["tune"], ["tune", "digits", *tables]):
        code, _, err = run(*wrong, cwd=tmp_path)
        assert code == 2
        assert "name a dataset, or own tables" in err

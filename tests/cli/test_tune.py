"""`privee tune`."""

import json

from tests._support.commands import good, run


def test_tuning_resumes_and_refuses_other_studies(tmp_path):
    command = ["tune", "digits", "--model", "logistic", "--epochs", "1", "--out", "s.journal", "--json"]
    first = json.loads(good(*command, "--trials", 2, cwd=tmp_path))
    assert first["trials"] == 2
    again = json.loads(good(*command, "--trials", 3, cwd=tmp_path))
    assert again["trials"] == 3
    assert again["accuracy"] >= first["accuracy"]
    assert 1e-5 <= again["learning_rate"] <= 1e-1
    assert again["batch_size"] in {32, 64, 128, 256, 512, 1024, 2048}
    code, _, err = run(*command, "--trials", 3, "--seed", 5, cwd=tmp_path)
    assert code == 2
    assert "other data or settings" in err
    (tmp_path / "s.journal").write_text("garbage\n")
    code, _, err = run(*command, "--trials", 3, cwd=tmp_path)
    assert code == 2
    assert "not a readable study file" in err

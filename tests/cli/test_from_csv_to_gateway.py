"""The page "From three CSVs to a gateway", from its first command to its last, on messy files and running servers."""

import json
import re
import sys
from pathlib import Path

import pytest

from tests._support.messy_tables import write_messy_tables
from tests._support.shell import Shell, free_ports, wait_for

PAGE = Path(__file__).parents[2] / "docs" / "from_csv_to_gateway.md"
TEXT = PAGE.read_text(encoding="utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, flags=re.DOTALL)


def test_the_page_is_short_and_linked():
    assert len(TEXT.split()) <= 900
    assert "docs/from_csv_to_gateway.md" in (PAGE.parents[1] / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_from_the_first_command_to_the_last(tmp_path):
    pytest.importorskip("fastapi")
    pytest.importorskip("joblib")
    write_messy_tables(tmp_path)
    port = free_ports()
    (plan,), (program,) = blocks("yaml"), blocks("python")
    shell, said = Shell(tmp_path), {}
    try:
        for line in "".join(blocks("sh")).splitlines():
            if "ask.sh" in line:
                wait_for(tmp_path / "quickstart" / "service" / "gateway.ready")
            said[line] = shell.run(line)
            if "--init" in line:  # then the reader fills it in
                assert "label: risk" in (tmp_path / "privee.yaml").read_text()
                (tmp_path / "privee.yaml").write_text(plan.replace("8080", str(port)))
        (tmp_path / "ask.py").write_text(program.replace("8080", str(port)))
        said["python"] = shell.run(f"{sys.executable} ask.py")
    finally:
        shell.stop()
    looked = said["privee quickstart --dry-run"]
    for told in re.search(r"```\n(shop\.csv:.*?)```", TEXT, flags=re.DOTALL)[1].splitlines():
        assert told in looked
    assert "calls.csv.gz: tab, Windows-1252, gzip" in looked
    assert "without a label are left out" in looked
    assert "alignment of an earlier command" in said["privee quickstart"]
    told = " ".join(said["privee quickstart"].split())
    assert re.search(r"With two classes .*`keep: (class|order-of-records)`", told)
    assert re.search("Release: (record-order:epsilon=|label-only)", told)  # whichever keeps enough order
    answer = json.loads(next(text for line, text in said.items() if "ask.sh" in line))
    assert answer["outputs"][0]["shape"] == [1, 2]
    assert answer["parameters"]["charged"] == 1
    assert re.search(r"\[\[.*\]\s+\[.*\]\] 0", said["python"], re.DOTALL)
    predicted = (tmp_path / "test.csv").read_text().splitlines()
    assert re.match(r"\d+,", predicted[1])  # ids are numbers in the bank's file
    assert 20 < len(predicted) < 60
    report = (tmp_path / "quickstart" / "audit" / "report.html").read_text(encoding="utf-8")
    assert "Warenkorb" in report

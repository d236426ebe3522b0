"""A new policy is one new file: dropped into the package, it prices, refuses, is shown, and has its option.

The file is the one of docs/extending.md.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import privee
from tests._support.gateway_world import MODEL, body, gateway_world, infer
from tests._support.local_gateway import text_of, visitor
from tests._support.recipes import recipes
from tests._support.warm_servers import cold_servers

FILE = "gateway/budget/shown_numbers.py"
TOY = recipes()[FILE]
CLASSES, ALLOWED = 10, 25


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    """A copy of privee with one more file; processes that start from here on run it."""
    place = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(privee.__file__).parent, place / "privee", ignore=shutil.ignore_patterns("__pycache__"))
    (place / "privee" / FILE).write_text(TOY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch, cold_servers():
        patch.setenv("PYTHONPATH", str(place))
        yield place


@pytest.fixture(scope="module")
def world(package, tmp_path_factory):
    with gateway_world(tmp_path_factory.mktemp("toy"), "--shown-numbers", str(ALLOWED)) as running:
        yield running


def test_it_is_one_file_of_at_most_60_lines():
    assert len(TOY.splitlines()) <= 60


def test_the_command_line_has_its_option(package):
    command = [sys.executable, "-m", "privee", "gateway", "serve"]
    shown = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert "--shown-numbers" in shown
    assert "--releases" in shown
    wrong = [*command, "run", "-d", "none", "--party", "a=b:1", "--shown-numbers", "0"]
    refused = subprocess.run(wrong, capture_output=True, text=True, check=False)  # noqa: S603
    assert refused.returncode == 2
    assert "--shown-numbers" in refused.stderr


def test_it_prices_and_refuses_in_a_running_gateway(world):
    with world.client() as client:
        priced = client.post(f"/v2/models/{MODEL}/price", json=body("17")).json()
        assert priced == {
            "allowed": True,
            "asked": {"releases": 1, "numbers": CLASSES},
            "spent": {"releases": 0, "numbers": 0},
            "limit": {"numbers": ALLOWED},
            "remaining": 2,
            "positions": [],
            "variants": {"used": 0, "allowed": 1},
        }
        remaining = [infer(client, "17").json()["parameters"]["remaining"] for _ in range(2)]
        assert remaining == [1, 0]
        answer = infer(client, "17")
        assert answer.status_code == 429
        assert answer.json()["code"] == "ledger"
        assert (
            "(asked releases 1, numbers 10; spent releases 2, numbers 20; limit numbers 25)" in answer.json()["error"]
        )
        assert infer(client, "18", "18", "18").status_code == 429
        assert infer(client, "18").status_code == 200


def test_the_dashboard_says_what_it_allows_and_what_was_used(world):
    with world.client() as client:
        infer(client, "19")
    with visitor(world.url, world.key("auditor")) as reader:
        seen = text_of(reader.get("/ui").text)
        assert "Each entity may give 25 numbers at most, which is 2 releases." in seen
        one = text_of(reader.post("/ui/entity", data={"entity": "19"}).text)
        assert "10 of 25 numbers" in one
        assert "This entity may give 1 more release." in one

"""What the files of `deploy/` would run: command lines of privee, taken from units, compose and Kubernetes files."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
BINARY = "/opt/privee/bin/privee"
SYSTEMD = {"CREDENTIALS_DIRECTORY": "/run/credentials", "RUNTIME_DIRECTORY": "/run/x", "STATE_DIRECTORY": "/var/lib/x"}


class Line(NamedTuple):
    """Arguments of one `privee`, and the variables it is started with."""

    where: str
    words: list[str]
    env: Mapping[str, str]


def all_lines() -> list[Line]:
    return [*unit_lines(), *compose_lines(), *cluster_lines()]


def unit_lines() -> Iterator[Line]:
    for unit, example in (("privee-gateway", "gateway"), ("privee-party@", "party")):
        env = environment_file(DEPLOY / "systemd" / f"{example}.env.example")
        text = (DEPLOY / "systemd" / f"{unit}.service").read_text(encoding="utf-8")
        (line,) = [one.removeprefix("ExecStart=") for one in text.splitlines() if one.startswith("ExecStart=")]
        words = shlex.split(line)
        assert words[0] == BINARY, line
        yield Line(unit, list(expanded(words[1:], env | SYSTEMD)), env)


def environment_file(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.partition("=")[::2] for line in lines if line and not line.startswith("#"))


def expanded(words: list[str], env: Mapping[str, str]) -> Iterator[str]:
    """As systemd does: ${NAME} within a word, $NAME as several words. What is not set is noticed."""
    for word in words:
        if word.startswith("$") and not word.startswith("${"):
            yield from env[word[1:]].split()
            continue
        yield re.sub(r"\$\{(\w+)\}", lambda found: env[found[1]], word)


def compose_lines() -> Iterator[Line]:
    for name, service in COMPOSE["services"].items():
        if service["image"] == "privee":
            yield Line(name, list(service["command"]), service.get("environment", {}))


def cluster_objects() -> Iterator[dict]:
    for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")):
        yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def cluster_lines() -> Iterator[Line]:
    for one in cluster_objects():
        if one["kind"] == "Deployment":
            (container,) = one["spec"]["template"]["spec"]["containers"]
            names = [variable["name"] for variable in container["env"]]
            yield Line(
                one["metadata"]["name"], container["args"], dict.fromkeys(names, "postgresql://somebody@db/name")
            )

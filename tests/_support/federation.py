"""Helpers of the federation tests: all roles in this process, talking in real bytes; tables; commands."""

import csv
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from privee.atomic import read_json
from privee.data.datasets import load_dataset
from privee.data.partition import Partition
from privee.federation.coordinator.exchange import Exchange
from privee.federation.coordinator.job_run import coordinate
from privee.federation.kits.project import ADMIN, Project
from privee.federation.kits.simulator import assemble
from privee.federation.settings import JobSettings, SiteSettings, table_source
from privee.federation.site.executor import NumberedReplies
from privee.federation.site.site import Site
from privee.vfl.embedding_defenses.noise import NOISE_KEY
from privee.vfl.experiment import TrainingOutcome, train_run
from privee.vfl.joint_data import from_dataset
from privee.vfl.run_format import UTILITY
from privee.vfl.seal.drawing import KEY
from privee.vfl.seal.records import read_codes
from privee.vfl.training import TrainingSettings
from privee.vfl.weights import load_tensors

SESSION = b"0123456789abcdef"


class Loop:
    """A post without a network; `tamper` may change what is delivered, or drop it by returning nothing."""

    def __init__(self, doors: Mapping[str, NumberedReplies]) -> None:
        self.doors = dict(doors)
        self.tamper: Callable[[str, bytes], list[bytes]] = lambda site, data: [data]
        self.crossed: list[tuple[str, bytes, bytes]] = []

    def deliver(self, messages: Mapping[str, bytes], seconds: float) -> dict[str, bytes]:
        replies = {}
        for site, data in messages.items():
            for copy in self.tamper(site, data):
                replies[site] = self.doors[site].answer(copy)
                self.crossed.append((site, copy, replies[site]))
        return replies


def door_of(site: str, settings: SiteSettings) -> tuple[Site, NumberedReplies]:
    made = Site(site, settings)
    return made, NumberedReplies(made.handle, SESSION, made.packing)


def line_to(job: JobSettings, folder: Path, tables: Mapping[str, SiteSettings] | None = None) -> tuple[Exchange, Loop]:
    given = tables or {}
    own = {site: given.get(site, SiteSettings(folder=folder / site)) for site in job.parties}
    loop = Loop({site: door_of(site, settings)[1] for site, settings in own.items()})
    return Exchange(loop, SESSION, step_seconds=job.answer_seconds, packing=job.packing), loop


def table_job(parties: tuple[str, ...], **training) -> JobSettings:
    settings = TrainingSettings(**{"epochs": 2, "learning_rate": 0.01} | training)
    return JobSettings(run="run", parties=parties, model="mlp", training=settings, source=table_source())


def write_tables(folder: Path, parties: tuple[str, ...], rows: int = 300) -> dict[str, Path]:
    """Digits as tables: each party lacks some records and has an order of its own; the first has the labels."""
    data = load_digits()
    shares = np.array_split(np.arange(64), len(parties))
    files = {}
    for place, (party, share) in enumerate(zip(parties, shares, strict=True)):
        held = np.random.default_rng(place).permutation(rows)[place * 20 :]
        files[party] = folder / f"{party}.csv"
        with files[party].open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(["customer", *(f"pixel_{k}" for k in share), *(["digit"] if place == 0 else [])])
            for row in held:
                label = [f"d{data.target[row]}"] if place == 0 else []
                out.writerow([f"id-{row:05d}", *data.data[row, share].astype(int), *label])
    return files


def largest_difference(one: Path, other: Path) -> float:
    """Between the weights of all roles of two runs."""
    files = sorted(one.glob("**/model.safetensors"))
    assert len(files) >= 3
    assert [f.relative_to(one) for f in files] == sorted(
        f.relative_to(other) for f in other.glob("**/model.safetensors")
    )
    worst = 0.0
    for file in files:
        a = load_tensors(file, file.parent.name)
        b = load_tensors(other / file.relative_to(one), file.parent.name)
        assert a.keys() == b.keys()
        worst = max([worst, *(float((a[name] - b[name]).abs().max()) for name in a)])
    return worst


def local_run(path: Path, job: JobSettings) -> TrainingOutcome:
    dataset = load_dataset("digits", seed=job.training.seed)
    data = from_dataset(dataset, Partition.from_dict(dict(job.source["partition"])))
    defenses = job.embedding_defenses
    return train_run(path, data, job.model, job.training, seals=job.seals, embedding_defenses=defenses)


def same_secrets(local: Path, sites: Mapping[str, Path]) -> None:
    """Give sealed sites the secrets of a local run's parties: then they draw the same codes, or the same noise."""
    for site, folder in sites.items():
        folder.mkdir(parents=True)
        for name in (KEY, NOISE_KEY):
            if (local / "parties" / site / name).exists():
                shutil.copy(local / "parties" / site / name, folder / name)


def same_as_local(job: JobSettings, folder: Path, most: float = 1e-6) -> Exchange:
    """Run a job over the loop and compare its run folder with a local run's; returns the line, which knows its cost."""
    job = JobSettings.from_dict(json.loads(json.dumps(job.as_dict())))
    expected = local_run(folder / "local", job)
    same_secrets(folder / "local", {site: folder / site / "run" for site in (*job.seals, *job.embedding_defenses)})
    line, _ = line_to(job, folder)
    found = coordinate(job, line, folder / "coordinator")
    assemble(folder / "run", folder / "coordinator" / "run", {s: folder / s / "run" for s in job.parties})
    assert largest_difference(folder / "local", folder / "run") <= most
    assert (found.train, found.test, found.seals) == (expected.train, expected.test, expected.seals)
    assert found.embedding_defenses == expected.embedding_defenses
    here, there = read_json(folder / "run" / "config.json"), read_json(folder / "local" / "config.json")
    assert here.pop("files").keys() == there.pop("files").keys() - {UTILITY}  # no role of a job could measure it
    assert here == there
    for site in job.parties:
        name = f"parties/{site}/party.json"
        assert read_json(folder / "run" / name) == read_json(folder / "local" / name)
    for site in job.seals:
        assert_same_codes(folder / "local" / "parties" / site, folder / "run" / "parties" / site)
    return line


def assert_same_codes(one: Path, other: Path) -> None:
    (entities, codes), (others, again) = read_codes(one), read_codes(other)
    assert entities == others
    assert codes.tolist() == again.tolist()


def started(*arguments: object) -> subprocess.Popen:
    """`privee federation ...` in a process of its own."""
    command = [sys.executable, "-m", "privee", "federation", *map(str, arguments)]
    env = os.environ | {"OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    return subprocess.Popen(command, env=env, **pipes)  # noqa: S603 (our own command line)


def said(process: subprocess.Popen, seconds: float) -> tuple[int, str]:
    """Exit code and all words of a command."""
    out, _ = process.communicate(timeout=seconds)
    return process.returncode, out


def own_tables(folder: Path, files: Mapping[str, Path]) -> dict[str, SiteSettings]:
    """Each site's own settings; the first has the labels."""
    labels = {next(iter(files)): "digit"}
    return {
        site: SiteSettings(folder=folder / site, data=file, id_column="customer", label=labels.get(site))
        for site, file in files.items()
    }


def talk(project: Project, port: int, kit: Path | None) -> bytes:
    """Connect with a kit's certificate, or without one, and wait for a word."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(project.kit(ADMIN) / "startup" / "rootCA.pem")
    if kit is not None:
        context.load_cert_chain(kit / "startup" / "client.crt", kit / "startup" / "client.key")
    plain = socket.create_connection(("127.0.0.1", port), timeout=5)
    with plain, context.wrap_socket(plain) as line:
        line.settimeout(1.0)
        return line.recv(1)


def refusal(project: Project, port: int, kit: Path | None) -> str:
    """How somebody is turned away; "timed out" is for those who are let in: NVFlare waits for their words."""
    try:
        return f"an answer of {len(talk(project, port, kit))} bytes"
    except OSError as error:
        return str(error).lower().replace("_", " ")

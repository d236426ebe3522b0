"""Whoever holds the admin's kit submits jobs that start a process at the server and at every site."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks._red_team.attack_job import attack_job
from benchmarks._red_team.base import Outcome, Scene
from benchmarks._shared.federation_jobs import digits_job, free_port
from privee.federation.kits.admin import admin_of
from privee.federation.kits.policy import write_job
from privee.federation.kits.project import create_project
from privee.federation.kits.run import follow_job, wait_for_sites
from privee.federation.kits.start_kit import local_kits

SECONDS = 120.0


def attack(scene: Scene) -> Sequence[Outcome]:
    """Each process that starts leaves a marker; an ordinary job must finish all the same."""
    folder = scene.folder / "kits"
    folder.mkdir()
    project = create_project(folder / "project", digits_job("logistic", 3, epochs=2), port=free_port())
    with local_kits(project), admin_of(project, SECONDS) as admin:
        wait_for_sites(admin, project.job.parties, SECONDS)
        jobs = [admin.submit(attack_job(folder / f"job-{at}", project.job, at)) for at in ("sites", "server")]
        over = all(admin.wait_over(job, SECONDS) for job in jobs)
        state, _ = follow_job(admin, admin.submit(write_job(folder / "job", project.job)), folder / "ordinary")
    started, finished = len(list(folder.glob("at-*"))), state.get("phase")
    words = f"{started} processes started at four places; the ordinary job ended as {finished}"
    held = over and not started and finished == "finished"
    return [Outcome("the admin's kit starts processes", held, words, {"started": started, "ordinary": finished})]

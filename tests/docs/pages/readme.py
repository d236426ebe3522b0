"""A running gateway of bundled data, tables, a module of one's own; trainings and audits small."""

import shutil

from tests._support.gateway_world import gateway_world
from tests._support.reader.worlds import QUICK_AUDIT, own_model, own_module, some_scores, write_risk_tables

NEEDS = ("fastapi",)
SMALLER = {
    "privee train": "--epochs 2",
    "privee train --party": "--model logistic",
    "privee seal": "--epochs 2",
    "privee audit": QUICK_AUDIT,
}


def prepare(place):
    write_risk_tables(place.folder)
    own_module(place)
    own_model(place)
    place.names["model_scores"] = some_scores()
    running = place.until_the_end.enter_context(gateway_world(place.folder / "world"))
    place.replace |= {"http://127.0.0.1:8080": running.url, "privee_...": running.key("consumer")}
    if not shutil.which("chromium"):
        place.replace["--pdf audit.pdf"] = ""

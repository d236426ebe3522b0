"""A run on tables, one of two classes, and a small model of one's own where the page has digits, which take minutes.

The two long answers on the page are those of the very commands that they stand under, nothing made small.
"""

from tests._support.reader.worlds import kept_run, own_module, risk_run

SMALL = "--records 10 --auxiliary 40 --jobs 1"
SMALLER = {"privee recommend --entry": SMALL, "privee recommend runs/risk": SMALL}


def prepare(place):
    risk_run(place)
    own_module(place)
    kept_run(place, "cancer", ("breast-cancer", "--model", "logistic"))
    place.replace["recommend runs/digits"] = "recommend --entry mymodule:parts"

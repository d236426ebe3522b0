"""Runs of two and of more classes; the two long answers are those of the very commands that they stand under."""

from tests._support.reader.worlds import _kept, digits_run, risk_run

SMALLER = {
    "privee recommend runs/digits": "--records 10 --auxiliary 40 --jobs 1",
    "privee recommend runs/risk": "--records 10 --auxiliary 40 --jobs 1",
}


def prepare(place):
    risk_run(place)
    digits_run(place)
    _kept(place, "cancer", ("breast-cancer", "--model", "logistic"))

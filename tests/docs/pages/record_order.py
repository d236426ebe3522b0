"""Scores, and others that may be learned from."""

from tests._support.reader.worlds import some_scores


def prepare(place):
    place.names |= {"scores": some_scores(), "public_scores": some_scores(60)}

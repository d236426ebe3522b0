"""Scores, few: a key is made by the first release."""

from tests._support.reader.worlds import key_file, some_scores


def prepare(place):
    key_file(place)
    place.names["scores"] = some_scores(4, 3)

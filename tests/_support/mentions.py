"""Whether an id is told in a text. Letters and digits around it belong to something else: `830` is in many a digest."""

import re


def mentions(text: str, word: str) -> bool:
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", text) is not None

"""Whether a command printed what its page shows. This is the one place that says what is taken for the same.

Of both texts, before they are compared:

- colours and bars of bar charts are dropped; any white space is one blank (in JSON: none);
- numbers are `#`, with sign, decimals, exponent and per cent, so sizes, times and addresses compare by their form;
- ids and hashes (eight or more hexadecimal digits, one of them a digit) are `#` too;
- `...` in a page stands for anything.

Then every line of the page must be found in what was printed, in this order; lines may lie between them, so a page can
show a part. What was printed may be wrapped otherwise.
"""

import re

COLOURS = re.compile(r"\x1b\[[0-9;]*m")
BARS = re.compile(r"[▏▎▍▌▋▊▉█━─]+")
HEX = re.compile(r"(?<![.\w])(?=[0-9a-f]*\d)[0-9a-f]{8,}\b")
NUMBER = re.compile(r"(?<![A-Za-z])(?:[-+<]+ ?)?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?: ?%)?")


def normal(text: str, *, json: bool = False) -> str:
    """The text as it is compared."""
    text = re.sub(r"\s+", " ", BARS.sub(" ", COLOURS.sub("", text)))
    text = NUMBER.sub("#", HEX.sub("0", text)).strip()
    return text.replace(" ", "") if json else text


def missing(shown: str, printed: str, *, json: bool = False) -> str | None:
    """The first line of a page that was not printed; None if all were."""
    there, place = normal(printed, json=json), 0
    for line in shown.splitlines():
        for part in line.split("..."):
            wanted = normal(part, json=json)
            found = there.find(wanted, place)
            if wanted and found < 0:
                return line
            place = max(place, found + len(wanted))
    return None

"""The reader of pages: what a page gets wrong is found, whatever it is."""

import types

import pytest

from tests._support.reader import following
from tests._support.reader.blocks import blocks
from tests._support.reader.following import Place, follow
from tests._support.reader.same import missing


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("releases.csv: 2 rows", "releases.csv: 31 rows, 3 classes"),
        ("moved 0.318", "moved 1.2e-05"),
        (" 1  ████▍  14.8%  pixel_2_1", " 1  █  < 0.1%   pixel_5_6 (passive-1)"),
        ("key 8703f0d3 made", "key 00af3c12 made"),
        ("first\nthird", "first\nsecond\nthird"),
        ("(asked variants 1; ...)", "(asked variants 2; spent 3)"),
        ("1 seed; 5 of 8", "1\n     seed; 5 of 8"),
        ("a long line that the terminal wraps", "a long line that\nthe terminal wraps"),
    ],
)
def test_what_is_the_same(shown, printed):
    assert missing(shown, printed) is None


@pytest.mark.parametrize(
    ("shown", "printed"),
    [
        ("Use: label-only", "Use: ranking-only"),
        ("third\nfirst", "first\nthird"),
        ("2 rows", "2 columns"),
        ("one 1 two 2", "one 1 two"),
    ],
)
def test_what_is_not(shown, printed):
    assert missing(shown, printed) is not None


PAGES = {
    "wrong output": ("```python\nprint('yes')\n```\n\n```\nno\n```\n", "the page shows\nno"),
    "wrong value": ("```python\n1 + 1  # 3\n```\n", "and it is 2"),
    "wrong name": ("```python\nimport privee\nprivee.nothing\n```\n", "nothing"),
    "output of nothing": ("```\nno command\n```\n", "what is no output needs a language"),
    "a command that fails": ("```\nprintf 'said this'; sh -c 'exit 3'\n```\n", "exit code 3"),
    "a refusal": ("""```\nprintf '{"error":"no"}'\n```\n""", '{"error":"no"}'),
    "output of a command": ("```\nprintf yes\n```\n\n```\nno\n```\n", "the page shows\nno"),
    "output behind a command": ("""```\nprintf '{"a":1}'  # {"b":1}\n```\n""", '{"b":1}'),
}


@pytest.mark.parametrize(("text", "told"), PAGES.values(), ids=PAGES)
def test_what_a_page_gets_wrong_is_found(text, told, tmp_path, monkeypatch):
    monkeypatch.setattr(following, "blocks", lambda page: blocks(page, text))
    with pytest.raises(AssertionError) as found:
        follow("page", None, Place(tmp_path, tmp_path))
    assert told in str(found.value)


def test_a_page_that_is_right(tmp_path, monkeypatch):
    """State of the shell and of Python goes on from block to block, and entries have their say."""
    text = (
        "```\nexport WHO=you\n```\n\n```\nprintf 'hello %s, ' $WHO\n```\n\n```\nhello ..., hello me\n```\n"
        "```python\n# part.py\nx = 20\n```\n\n```python\nfrom part import x\n```\n\n"
        "```python\nprint(x + y)\n```\n\n```\n23\n```\n"
        "<!-- not run: there is no such thing -->\n```\nsh nothing.sh\n```\n"
    )
    monkeypatch.setattr(following, "blocks", lambda page: blocks(page, text))
    seen = []
    entry = types.SimpleNamespace(
        prepare=lambda place: place.names.update(y=3),
        SMALLER={"printf": "me"},
        BEFORE={"printf": lambda _: seen.append(1)},
    )
    assert follow("page", entry, Place(tmp_path, tmp_path)) == 7
    assert seen == [1]

"""`--questions`: numbers, or one line that says what it takes."""

import pytest

from privee.cli.audit import question_counts
from privee.errors import PriveeError


def test_numbers_are_taken_and_zero_alone_is_none():
    assert question_counts("1,2, 5,10") == (1, 2, 5, 10)
    assert question_counts("0") == ()


@pytest.mark.parametrize("given", ["many", "1,x", "-1", "0,5", "", "1.5"])
def test_anything_else_gets_one_line(given):
    with pytest.raises(PriveeError, match="--questions takes"):
        question_counts(given)

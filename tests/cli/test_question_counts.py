"""`--questions`: numbers, or one line that says what it takes."""

import pytest

from privee.cli.model_options import question_counts
from privee.errors import PriveeError


def test_numbers_are_taken_and_zero_alone_is_none():
    assert question_counts("1,2, 5,10") == (1, 2, 5, 10)
    assert question_counts("0", none=True) == ()


@pytest.mark.parametrize("given", ["many", "1,x", "-1", "0,5", "", "1.5"])
def test_anything_else_gets_one_line(given):
    with pytest.raises(PriveeError, match="--questions takes"):
        question_counts(given, none=True)


def test_none_is_for_those_who_may_do_without():
    with pytest.raises(PriveeError, match="from 1 on; got '0'"):
        question_counts("0")

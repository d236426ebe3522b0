"""The one family of errors a user of privee is meant to read."""


class PriveeError(ValueError):
    """Something the caller can put right; the message says what, in one line."""


class ScoreError(PriveeError):
    """The scores (or the release) are not what they claim to be.

    Where one place is to blame, `row` and `column` hold its index, so that a reader of a file can name it better.
    """

    def __init__(self, what: str, *, row: int | None = None, column: int | None = None) -> None:
        self.what, self.row, self.column = what, row, column
        place = "" if row is None else f"row {row} " if column is None else f"row {row}, class {column} "
        super().__init__(place + what)


class SettingError(PriveeError):
    """A defense was given settings it cannot work with."""

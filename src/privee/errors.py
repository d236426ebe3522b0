"""The one family of errors a user of privee is meant to read."""


class PriveeError(ValueError):
    """Something the caller can put right; the message says what, in one line."""


class ScoreError(PriveeError):
    """The scores (or the release) are not what they claim to be."""


class SettingError(PriveeError):
    """A defense was given settings it cannot work with."""

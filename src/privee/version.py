"""The version, in a file of its own so that building the package does not import it."""

__version__ = "0.1.0"

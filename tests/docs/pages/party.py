"""A run, sealed, and its parties' folders."""


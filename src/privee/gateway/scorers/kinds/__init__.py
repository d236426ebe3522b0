"""Kinds of scorers, one file each."""

"""Homomorphic encryption takes seconds."""

SLOW = True
NEEDS = ("tenseal",)

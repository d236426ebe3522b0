"""Digits, a few epochs; the gateway on another port."""

from tests._support.shell import free_ports

NEEDS = ("fastapi",)
SMALLER = {"privee train": "--epochs 2", "privee seal": "--epochs 2"}


def prepare(place):
    first = free_ports(2)
    place.replace["7001"] = str(first)
    place.replace["--codes passive-1=passive-1-codes.parquet\n"] = (
        f"--codes passive-1=passive-1-codes.parquet --port {first + 1}"
    )

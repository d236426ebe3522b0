"""Primes for the ciphertext modulus: near a power of two, so that scales keep their size."""

from __future__ import annotations

from collections.abc import Iterator

_WITNESSES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
"""Enough to decide primality of every 64-bit number (Sorenson and Webster 2015)."""


def primes_near(bits: int, degree: int) -> Iterator[int]:
    """Primes of the form 2 degree m + 1, nearest to 2^bits first.

    Example:
        >>> next(primes_near(30, 32768))
        1073872897
    """
    step = 2 * degree
    middle = (1 << bits) + 1
    for away in range(1, (1 << (bits - 2)) // step):
        for candidate in (middle - away * step, middle + away * step):
            if is_prime(candidate):
                yield candidate


def is_prime(number: int) -> bool:
    """Miller and Rabin's test, exact for 64-bit numbers."""
    if number < 2 or any(number % p == 0 for p in _WITNESSES):
        return number in _WITNESSES
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, pow(witness, odd, number), twos) for witness in _WITNESSES)


def _passes(number: int, power: int, twos: int) -> bool:
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False

"""What one code of a sealed party can tell, at most: in bits of the whole record, and of any single fact about it.

All statements are about someone who knows everything but the record: the model, the encoder, the noise's law, own
columns, other records. "Before" is what that one could do without the code. Proofs beside the functions, in prose in
docs/sealed_parties.md.
"""

from __future__ import annotations

import math

from privee.errors import SettingError
from privee.theory.sealing import WORDS, checked_codes, checked_epsilon, response_weights


def code_bits(codes: int) -> float:
    """log2 M: no code out of M tells more bits than that, noise or not.

    Theorem: for any prior of the record X, any encoder and any question g, a right guess of g(X) is at most M times as
    likely with the code Y as without it.

    Proof. The best guess given y is right with probability sum over y of max over v of P(g(X) = v, Y = y), and each
    term is at most max over v of P(g(X) = v), the best guess without the code. There are M terms. ∎

    Example:
        >>> code_bits(8)
        3.0
    """
    return math.log2(checked_codes(codes))


def leaked_bits(codes: int, epsilon: float | None) -> float:
    """Min-entropy leakage of the channel, log2(M e^epsilon / (e^epsilon + M - 1)): most of all priors and encoders.

    Theorem: a right guess of any g(X) is at most 2^bits times as likely with the released code as without it, and with
    codes that are equally likely and g the code itself it is that likely.

    Proof. P(g(X) = v, Y = y) = sum over x with g(x) = v of P(x) P(y | x) <= P(g(X) = v) max over x of P(y | x). Summed
    over y, the best guess grows by a factor of at most S = sum over y of max over x of P(y | x). The largest entry of
    each of the M columns of `channel` is own / N, so S = M own / N, and own <= N e^epsilon / (e^epsilon + M - 1).
    With equally likely codes the guess "the code sent is the true one" is right with own / N, before with 1 / M. ∎

    What is counted as right does not matter: exactly, within a tolerance, any gain of 0 or more takes the same steps.

    Example:
        >>> leaked_bits(8, None), round(leaked_bits(8, 2.0), 3), leaked_bits(8, 0.0)
        (3.0, 2.038, 0.0)
    """
    return leaked_bits_of_draws(codes, epsilon, 1)


def keep_probability(codes: int, epsilon: float | None) -> float:
    """How often the released code is the true one, e^epsilon / (e^epsilon + M - 1).

    Example:
        >>> keep_probability(4, None), round(keep_probability(4, 4.0), 3), keep_probability(4, 0.0)
        (1.0, 0.948, 0.25)
    """
    return response_weights(codes, epsilon)[0] / WORDS


def effective_epsilon(codes: int, epsilon: float | None) -> float:
    """Log of own / other weight: the epsilon of the channel that is really drawn from, never above the stated one.

    Infinite without epsilon. Above 36 or so no epsilon has any effect: the other codes have one word of 2**52 each.

    Example:
        >>> effective_epsilon(4, 2.0) <= 2.0, round(effective_epsilon(4, 2.0), 9), round(effective_epsilon(4, 700.0), 2)
        (True, 2.0, 36.04)
    """
    own, other = response_weights(codes, epsilon)
    return math.inf if epsilon is None else min(float(epsilon), math.log1p((own - other) / other))


def odds_bound(epsilon: float | None) -> float:
    """By what factor the released code moves the odds of any fact about the record, at most: e^epsilon.

    Theorem: for events A and B about the record (or about anything that bears on the code through the record alone),
    P(A | y) / P(B | y) <= e^epsilon P(A) / P(B).

    Proof. P(y | A) is a mean of numbers P(y | x), and so is P(y | B). All of these are within a factor e^epsilon of
    each other, hence so are the means. Bayes' rule: the odds move by P(y | A) / P(y | B). ∎

    Infinite without epsilon: a code may be the fact itself.

    Example:
        >>> round(odds_bound(1.0), 3), odds_bound(None)
        (2.718, inf)
    """
    stated = checked_epsilon(epsilon)
    try:
        return math.inf if stated is None else math.exp(stated)
    except OverflowError:
        return math.inf


def guess_bound(before: float, bits: float) -> float:
    """How likely a right guess about the record can be after `bits` have leaked: 2^bits times that before, at most 1.

    For one code, `leaked_bits`; for several, `Lifetime.bits`.

    Example:
        >>> guess_bound(0.001, 3.0), guess_bound(0.5, 1.0)
        (0.008, 1.0)
    """
    _check_probability(before)
    if not bits >= 0:
        raise SettingError(f"bits must be 0 or more, got {bits}")
    return min(1.0, before * 2.0**bits) if bits < 1000 else 1.0  # floats end at 2^1024


def fact_guess_bound(prior: float, epsilon: float | None, codes: int | None = None) -> float:
    """How likely a right guess of one yes/no fact can be, if it is true with probability `prior`.

    Bits bound the whole record, not one fact: a code of one bit without epsilon may be the fact, and the guess is 1.0.
    Epsilon bounds every fact.

    Theorem: let p be the prior, a = own / N and b = other / N. Over all encoders the most is

        max(p a, (1 - p) b) + max(p b, (1 - p) a) + (M - 2) b max(p, 1 - p).

    Proof. Given the fact, the code y has probability q_1 . C_y, otherwise q_0 . C_y: C_y is column y of `channel`, and
    the vectors q_1 and q_0 hold how likely each true code is in either case. The best guess is right with probability
    sum over y of max(p q_1 . C_y, (1 - p) q_0 . C_y), which is convex in (q_1, q_0), so largest in a corner: one code
    i if the fact holds, one code j if not. i = j tells nothing, i != j gives the three terms (y = i, y = j, the other
    M - 2), and they are no less: a sum of maxima is at least each sum. ∎

    Of all channels with this epsilon two codes tell most: what is epsilon private for two inputs can be made from
    randomised response with two codes (Kairouz, Oh and Viswanath 2015). So without `codes` the bound holds for several
    codes together too, with their total epsilon.

    Example:
        >>> fact_guess_bound(0.5, None, 2), [round(fact_guess_bound(0.5, 1.0, codes), 3) for codes in (2, 8)]
        (1.0, [0.731, 0.588])
        >>> fact_guess_bound(0.01, 1.0)  # a rare fact: "no" stays the best guess
        0.99
    """
    _check_probability(prior)
    likely, rare = max(prior, 1 - prior), min(prior, 1 - prior)
    if codes is None:
        other = 1 / (1 + odds_bound(epsilon))
        return likely * (1 - other) + max(likely * other, rare * (1 - other))
    own, other_words = response_weights(codes, epsilon)
    if own == other_words:  # the same for every record, words left over included
        return likely
    own_share, other_share = own / WORDS, other_words / WORDS
    others = (int(codes) - 2) * other_share * likely
    return min(1.0, likely * own_share + max(likely * other_share, rare * own_share) + others)


def leaked_bits_of_draws(codes: int, epsilon: float | None, draws: int) -> float:
    """Min-entropy leakage of so many independent draws for one and the same true code, exactly: towards log2 M.

    One draw shown again is no new draw: what is shown is then a function of the first one, and tells no more than that
    (post-processing). A new draw does: epsilons add up, since the probabilities of independent draws multiply. Bits may
    not show it: two draws that differ leave the guess open between them, so that two leak as many bits as one.

    Theorem: with A(m) the number of sequences of d codes in which none is there more than m times, the leakage is
    log2 of the sum over m of (A(m) - A(m - 1)) own^m other^(d - m) / N^d.

    Proof. By the proof at `leaked_bits` it is log2 of the sum over all sequences of the largest probability under any
    true code. Under code i that is own^n other^(d - n) / N^d, with n how often i is there; since own >= other, the
    largest one is that of the code that is there most often. ∎ All in whole numbers but for the last logarithm.

    Example:
        >>> [round(leaked_bits_of_draws(8, 1.0, draws), 2) for draws in (1, 2, 8, 64)]
        [1.16, 1.16, 1.92, 2.94]
    """
    if draws < 0:
        raise SettingError(f"draws must be 0 or more, got {draws}")
    own, other = response_weights(codes, epsilon)
    if own == other or draws == 0:
        return 0.0
    total, fewer = 0, 0
    for most in range(1, draws + 1):
        up_to = _sequences(int(codes), draws, most)
        total += (up_to - fewer) * own**most * other ** (draws - most)
        fewer = up_to
    return math.log2(total / WORDS**draws)  # Python divides whole numbers of any size to the nearest float


def _sequences(codes: int, length: int, most: int) -> int:
    """How many sequences of so many codes have none more than `most` times.

    One more code can be put behind a sequence in `codes` ways, and is one too many where that code was there `most`
    times already: C(n, most) choices of places for it, and the other codes around them. So for sequences of n + 1:
    A(codes, n + 1) = codes (A(codes, n) - C(n, most) A(codes - 1, n - most)).
    """
    deepest = min(codes, length // (most + 1))
    row = [0] * (length + 1)  # never read: see below
    for letters in range(codes - deepest, codes + 1):
        fewer, row = row, [1]
        for n in range(length - (codes - letters) * (most + 1)):
            # With the fewest letters, n is below `most` or there are no letters at all.
            too_many = math.comb(n, most) * fewer[n - most] if n >= most else 0
            row.append(letters * (row[n] - too_many))
    return row[length]


def _check_probability(value: float) -> None:
    if not 0 <= value <= 1:
        raise SettingError(f"a probability must be from 0 to 1, got {value}")

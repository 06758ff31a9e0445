"""Randomness and noise: exact, vectorised, from a cryptographic stream.

Contract: what is drawn here follows the stated distribution exactly, given that the AES key
stream is indistinguishable from fair coins. Only integers lie between the random bits and the
sample; no floating-point rounding can betray the value that the noise hides. Each module
states its proof.

    stream()                     the calling thread's stream: .bytes(n), .bits(n), .uint64(n)
    below(n, size)               uniform integers; integer_below(n) for one of any length
    bernoulli(p, size)           coins; bernoulli_bits(p, size) packs 64 of them in a word
    permutation(n)               a random order
    discrete_laplace(t, size)    Pr[x] ∝ exp(−|x|/t)
    discrete_gaussian(v, size)   Pr[x] ∝ exp(−x²/(2v))
    rounded_gaussian(v, size)    a continuous N(0, v), rounded to whole numbers
    rational, exponential, preference     exact probabilities: p, exp(−γ), e^ε/(e^ε + others)
    insecure_seeded(seed)        a reproducible stream, for tests only
"""

from __future__ import annotations

from sfumato.dp.noise.chances import Chance, exponential, preference, rational
from sfumato.dp.noise.gaussian import discrete_gaussian, rounded_gaussian
from sfumato.dp.noise.laplace import discrete_laplace
from sfumato.dp.noise.stream import Stream, insecure_seeded, stream
from sfumato.dp.noise.uniform import (
    below,
    bernoulli,
    bernoulli_bits,
    integer_below,
    permutation,
)

__all__ = [
    "Chance",
    "Stream",
    "below",
    "bernoulli",
    "bernoulli_bits",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential",
    "insecure_seeded",
    "integer_below",
    "permutation",
    "preference",
    "rational",
    "rounded_gaussian",
    "stream",
]

"""Sums over one row's observations, one fused multiply-add after the other, in exact arithmetic rounded once."""

from fractions import Fraction

import numpy as np


def fma(a, b, c):
    """a b + c: the exact value, rounded to the nearest double."""
    return float(Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c)))


def row_sums(index, values, weights, F, offset, mu, fma=fma):
    """R rows of sum w f f', then sum w t f and sum w f; and sum w, sum w t, sum w t^2."""
    R = F.shape[1]
    out, sums = np.zeros((R + 2, R)), np.zeros(3)
    for n, j in enumerate(index):
        t = values[n] - mu - offset[j]
        w = weights[n] if weights.size else 1.0
        v = w * F[j]
        for c in range(R):
            for a in range(R):
                out[a, c] = fma(F[j, a], v[c], out[a, c])
            out[R, c] = fma(t, v[c], out[R, c])
            out[R + 1, c] += v[c]
        sums[:] = sums[0] + w, fma(w, t, sums[1]), fma(w * t, t, sums[2])
    return out, sums

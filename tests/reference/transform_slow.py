"""The formulas of the transforms for one number, with Python's own arithmetic."""

import math


def forward_slow(transform, y):
    if transform.kind == "log":
        return math.log(y)
    if transform.kind == "logit":
        share = (y - transform.low) / (transform.high - transform.low)
        return math.log(share) - math.log((transform.high - y) / (transform.high - transform.low))
    return y


def inverse_slow(transform, z):
    if transform.kind == "log":
        return math.exp(z)
    if transform.kind == "logit":
        return transform.low + (transform.high - transform.low) / (1 + math.exp(-z))
    return z

"""Scores of predictions: CRPS from draws, log loss, Brier score, calibration."""

import numpy as np


def crps(draws: np.ndarray, truth: np.ndarray) -> float:
    """Mean continuous ranked probability score of predictive draws (S, n): E|Y - y| - E|Y - Y'| / 2."""
    ordered = np.sort(draws, axis=0)
    S = len(ordered)
    spread = (2 * np.arange(S) - S + 1) @ ordered / (S * (S - 1))  # E|Y - Y'| / 2, unbiased
    return float(np.mean(np.abs(ordered - truth).mean(0) - spread))


def log_loss(probabilities: np.ndarray, code: np.ndarray) -> float:
    """Mean of -log of the probability of what came; (n, K) and (n,) from 0."""
    p = probabilities[np.arange(code.size), code]
    return float(-np.mean(np.log(np.clip(p, 1e-12, 1.0))))


def brier(p: np.ndarray, yes: np.ndarray) -> float:
    return float(np.mean((p - yes) ** 2))


def calibration(p: np.ndarray, yes: np.ndarray, bins: int = 10) -> float:
    """Mean distance of frequencies from probabilities over bins of equal size, weighted equally."""
    parts = np.array_split(np.argsort(p, kind="stable"), bins)
    return float(np.mean([abs(p[k].mean() - yes[k].mean()) for k in parts if k.size]))

"""Scores of features by pairs of rows, and their p-value one by one: what `model.relevance` does by products."""

import numpy as np


def score(F, Z, r, orders):
    """F an array; any order of rows, each pair of them once."""
    F = F - F.mean(axis=0)
    found = []
    for order in orders:
        patterns, levels = np.zeros(F.shape[1]), np.zeros(F.shape[1])
        for i in range(len(F)):
            for j in range(len(F)):
                if i != j:
                    both = F[i] * F[j]
                    patterns += both * (Z[order[i]] @ Z[order[j]])
                    levels += both * r[order[i]] * r[order[j]]
        length = (F**2).sum(axis=0)
        some = length > 1e-9 * length.max()
        found.append(
            [
                patterns.sum(),
                levels.sum(),
                (patterns[some] / length[some]).max(),
                (levels[some] / length[some]).max(),
            ]
        )
    return np.array(found)


def rank_scores(scores):
    """How many arrangements have a least rank as small as the first one's."""

    def least(a):
        return min(
            sum(scores[b, k] >= scores[a, k] for b in range(len(scores))) for k in range(scores.shape[1])
        )

    return np.mean([least(a) <= least(0) for a in range(len(scores))])

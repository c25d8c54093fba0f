"""The ways to choose that campaigns have, and the two random starts."""

from maxentry.studies.strategies.strategy import Strategy

UNIFORM = Strategy("uniform", "uniform", "uniform", "uniform")
BALANCED = Strategy("balanced", "balanced", "balanced")
BALANCED_UNIFORM = Strategy("balanced_uniform", "balanced, then uniform", "uniform")
MAXENT = Strategy("maxent", "MaxEnt", "maxent")
MAXENT_NEAREST = Strategy("maxent_nearest", "MaxEnt, nearest projections", "maxent_nearest")
PREDICTIVE_VARIANCE = Strategy("predictive_variance", "predictive variance (default)", "predictive_variance")
INTEGRATED_VARIANCE = Strategy("integrated_variance", "integrated variance", "integrated_variance")

OURS = (
    UNIFORM, BALANCED, BALANCED_UNIFORM, MAXENT, MAXENT_NEAREST, PREDICTIVE_VARIANCE, INTEGRATED_VARIANCE,
)  # fmt: skip

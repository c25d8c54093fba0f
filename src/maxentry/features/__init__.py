"""What is known of rows or columns beside the measurements: read by label, encoded as numbers, standardised.

A `FeatureTable` holds what was given, one line a row of the matrix. `Features` adds how it becomes numbers: a category
is one column for each of its levels, a missing value is the mean of its column beside a column that says so, and each
column has mean 0 and variance 1. `Features.encode` gives new rows in the same columns.
"""

from maxentry.features.features import Features, describe_missing, describe_slips
from maxentry.features.table import FeatureTable, find_labels, read_features, read_labels

__all__ = [
    "FeatureTable",
    "Features",
    "describe_missing",
    "describe_slips",
    "find_labels",
    "read_features",
    "read_labels",
]

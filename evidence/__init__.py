"""The studies behind docs/results.md: the paper's figures, strategies side by side, and their data sets.

Not part of the package. Run from the root of the repository: python -m evidence --help
"""

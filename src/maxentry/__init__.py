"""Which entries of a matrix to measure next, and the whole matrix with uncertainty you can trust."""

__version__ = "0.1.0"

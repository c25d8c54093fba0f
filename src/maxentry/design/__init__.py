"""Initial designs: which entries to measure before anything is known."""

from maxentry.design import latin
from maxentry.design.balanced import balanced
from maxentry.design.uniform import uniform

__all__ = ["balanced", "latin", "uniform"]

"""Real matrices for studies: `load(name)`, and `catalogue()` for what there is."""

from maxentry.studies.datasets.dataset import Dataset, File, Info
from maxentry.studies.datasets.load import catalogue, info, load

__all__ = ["Dataset", "File", "Info", "catalogue", "info", "load"]

"""Real matrices for studies: `load(name)`, and `catalogue()` for what there is."""

from maxentry.studies.datasets.dataset import Dataset, File, Info
from maxentry.studies.datasets.download import by_hand
from maxentry.studies.datasets.load import catalogue, info, load, where
from maxentry.studies.datasets.places import cache_folder

__all__ = ["Dataset", "File", "Info", "by_hand", "cache_folder", "catalogue", "info", "load", "where"]

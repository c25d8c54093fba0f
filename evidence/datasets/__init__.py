"""Real matrices for studies: `load(name)`, and `catalogue()` for what there is."""

from evidence.datasets.dataset import Dataset, File, Info
from evidence.datasets.files import cache_folder, explain_by_hand
from evidence.datasets.load import catalogue, find_file, info, load

__all__ = [
    "Dataset",
    "File",
    "Info",
    "cache_folder",
    "catalogue",
    "explain_by_hand",
    "find_file",
    "info",
    "load",
]
